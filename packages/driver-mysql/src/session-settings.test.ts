import { expect, test } from 'vitest'
import { checkSession, pinStatements, readBackStatement } from './session-settings.ts'

const options = { name: 'h:1/d', lockWaitSeconds: 3, silenceSeconds: 150 }

/** What a server answers that has taken every setting. */
const kept: Readonly<Record<string, string>> = {
  sql_mode: 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
  time_zone: '+00:00',
  autocommit: 'ON',
  innodb_lock_wait_timeout: '3',
  lock_wait_timeout: '3',
  wait_timeout: '150',
  tx_isolation: 'READ-COMMITTED',
  hostname: 'db1',
  port: '3306',
  server_id: '1',
  pseudo_thread_id: '57',
  max_allowed_packet: '16777216',
}

const answer = (values: object): unknown =>
  Object.entries(values).map(([Variable_name, Value]) => ({ Variable_name, Value }))

test('a session that has kept everything is told by server and thread', () => {
  expect(checkSession(answer(kept), options)).toEqual({
    identity: { server: JSON.stringify(['db1', '3306', '1']), thread: 57 },
    maxPacketBytes: 16 * 1024 * 1024,
  })
})

test('servers may name the modes in another order, switches with digits, and the isolation differently', () => {
  const { tx_isolation: isolation, ...others } = kept
  const answered = {
    ...others,
    transaction_isolation: isolation,
    autocommit: '1',
    sql_mode: 'NO_ENGINE_SUBSTITUTION,STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO',
  }
  expect(checkSession(answer(answered), options).identity.thread).toBe(57)
})

test.each(Object.keys(kept).slice(0, 7))('a session that has not kept %s is refused by its name', (name) => {
  const { [name]: _, ...others } = kept
  const shown = name === 'tx_isolation' ? /the isolation level/ : new RegExp(`: ${name} was set to`)
  for (const answered of [others, { ...kept, [name]: '9' }]) {
    expect(() => checkSession(answer(answered), options)).toThrow(
      expect.objectContaining({ code: 'STATEMENT_FAILED', message: expect.stringMatching(shown) }),
    )
  }
})

test('modes that were added are as bad as modes that are missing', () => {
  for (const mode of [`${kept.sql_mode},NO_BACKSLASH_ESCAPES`, 'STRICT_ALL_TABLES', '']) {
    expect(() => checkSession(answer({ ...kept, sql_mode: mode }), options)).toThrow(/sql_mode/)
  }
})

test('an answer that is none is refused', () => {
  for (const nothing of [undefined, [], {}, { affectedRows: 0 }, [null]]) {
    expect(() => checkSession(nothing, options)).toThrow(/sql_mode was set to/)
  }
})

test('whatever is pinned is read back', () => {
  const names = [...(pinStatements(options)[0] as string).matchAll(/(\w+) = /g)].map(([, name]) => name)
  expect(names).toEqual(Object.keys(kept).slice(0, 6))
  for (const name of names) expect(readBackStatement(options)).toContain(`'${name}'`)
})
