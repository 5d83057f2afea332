import { expect, test } from 'vitest'
import {
  checkSession,
  identityOf,
  isEarlierSession,
  pinStatements,
  readBackStatement,
  type SessionIdentity,
} from './session-settings.ts'

const options = { name: 'h:1/d', lockWaitSeconds: 3, silenceSeconds: 150 }
const token = Buffer.from([0xab, 0xcd])

/** Answer of a server that has kept every setting. */
const kept: Readonly<Record<string, string>> = {
  sql_mode: 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
  time_zone: '+00:00',
  autocommit: 'ON',
  completion_type: 'NO_CHAIN',
  unique_checks: 'ON',
  sql_select_limit: '18446744073709551615',
  sql_big_selects: 'ON',
  sql_safe_updates: 'OFF',
  character_set_client: 'utf8mb4',
  character_set_connection: 'utf8mb4',
  character_set_results: 'utf8mb4',
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

const PINNED = Object.keys(kept).indexOf('tx_isolation')

test('a session with all settings is accepted', () => {
  expect(checkSession(answer(kept), options)).toEqual({
    maxPacketBytes: 16 * 1024 * 1024,
    isolationName: 'tx_isolation',
  })
})

test('modes in another order, switches as digits and another name of the isolation level are accepted', () => {
  const { tx_isolation: isolation, ...others } = kept
  const answered = {
    ...others,
    transaction_isolation: isolation,
    autocommit: '1',
    sql_safe_updates: '0',
    sql_mode: 'NO_ENGINE_SUBSTITUTION,STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO',
  }
  expect(() => checkSession(answer(answered), options)).not.toThrow()
})

test.each(Object.keys(kept).slice(0, PINNED + 1))(
  'a session with another value of %s is rejected by its name',
  (name) => {
    const { [name]: _, ...others } = kept
    const shown = name === 'tx_isolation' ? /the isolation level/ : new RegExp(`: ${name} was set to`)
    for (const answered of [others, { ...kept, [name]: '9' }]) {
      expect(() => checkSession(answer(answered), options)).toThrow(
        expect.objectContaining({ code: 'STATEMENT_FAILED', message: expect.stringMatching(shown) }),
      )
    }
  },
)

test('a session with an additional SQL mode is rejected', () => {
  for (const mode of [`${kept.sql_mode},NO_BACKSLASH_ESCAPES`, 'STRICT_ALL_TABLES', '']) {
    expect(() => checkSession(answer({ ...kept, sql_mode: mode }), options)).toThrow(/sql_mode/)
  }
})

test('an answer without rows is rejected', () => {
  for (const nothing of [undefined, [], {}, { affectedRows: 0 }, [null]]) {
    expect(() => checkSession(nothing, options)).toThrow(/sql_mode was set to/)
  }
})

test('every pinned setting is read back', () => {
  const [set = ''] = pinStatements(options, token)
  const names = [...set.matchAll(/ (\w+) = /g)].map(([, name]) => name)
  expect(names).toEqual(Object.keys(kept).slice(0, PINNED))
  for (const name of names) expect(readBackStatement(options, token)).toContain(`'${name}'`)
  // The statement checks the token of the session.
  expect(set).toMatch(/, @looseleaf = x'abcd'$/)
  expect(readBackStatement(options, token)).toContain("<=> x'abcd'")
})

test('the identity of a session has the server, the thread and the start of the server', () => {
  const identity = identityOf(answer(kept), answer({ Uptime: '100' }))
  expect(identity).toMatchObject({ server: JSON.stringify(['db1', '3306', '1']), thread: 57 })
  expect(performance.now() / 1_000 - identity.started).toBeGreaterThanOrEqual(100)
  expect(identityOf(answer(kept), []).started).toBeNaN()
})

const earlier: SessionIdentity = { server: 'a', thread: 57, started: -1_000 }

test.each<[string, Partial<SessionIdentity>, boolean]>([
  ['of the same server', { thread: 58 }, true],
  ['whose answer took a second', { thread: 58, started: -998.5 }, true],
  ['of a server that does not tell its start', { thread: 58, started: Number.NaN }, true],
  ['of another server', { thread: 58, server: 'b' }, false],
  ['of a server that has restarted', { thread: 58, started: -990 }, false],
  ['with an earlier thread', { thread: 56 }, false],
  ['with no thread', { thread: Number.NaN }, false],
])('isEarlierSession is right for a later session %s', (_, later, expected) => {
  expect(isEarlierSession(earlier, { ...earlier, ...later })).toBe(expected)
})
