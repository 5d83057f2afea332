import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { expect, test } from 'vitest'
import { cleanUp, freshBench } from '../../test/bench.ts'
import { createLimitedUser } from '@looseleaf-tooling/vitest/limited-user'

const bench = await freshBench()

async function connectThrough(change: (statement: string) => string, to = bench.url): Promise<void> {
  const { proxy, url } = await bench.behindProxy(to)
  proxy.rewrite = (bytes) => Buffer.from(change(bytes.toString('latin1')), 'latin1')
  await bench.connect({}, url)
}

test.each([
  ['sql_mode', 'STRICT_ALL_TABLES', 'NO_ZERO_DATE,ANSI'],
  ['time_zone', "time_zone = '+00:00'", "time_zone = '+01:00'"],
  ['autocommit', "autocommit = 'ON'", 'autocommit =    0'],
  ['completion_type', "completion_type = 'NO_CHAIN'", "completion_type = 'CHAIN'   "],
  ['unique_checks', "unique_checks = 'ON'", 'unique_checks =    0'],
  ['sql_select_limit', 'sql_select_limit = 18', 'sql_select_limit = 17'],
  ['sql_big_selects', "sql_big_selects = 'ON'", 'sql_big_selects =    0'],
  ['sql_safe_updates', "sql_safe_updates = 'OFF'", 'sql_safe_updates =     1'],
  ['character_set_results', "character_set_results = 'utf8mb4'", "character_set_results = 'latin1' "],
  ['innodb_lock_wait_timeout', 'innodb_lock_wait_timeout = 3', 'innodb_lock_wait_timeout = 9'],
  [' lock_wait_timeout', ' lock_wait_timeout = 3', ' lock_wait_timeout = 9'],
  ['wait_timeout', ', wait_timeout = 1', ', wait_timeout = 9'],
  ['the isolation level', 'READ COMMITTED', 'SERIALIZABLE  '],
])('a connection whose setting a proxy has changed is rejected: %s', async (name, said, heard) => {
  expect(heard).toHaveLength(said.length)
  await expect(connectThrough((statement) => statement.replace(said, heard))).rejects.toMatchObject({
    code: 'STATEMENT_FAILED',
    retryable: false,
    message: expect.stringContaining(`${name.trim()} was set to`),
  })
})

test('a connection through a proxy that answers SET by itself is rejected', async () => {
  const comment = (statement: string): string =>
    statement.replace(/SET SESSION [^\0]*/, (set) => `DO 1${' '.repeat(set.length - 4)}`)
  await expect(connectThrough(comment)).rejects.toMatchObject({
    code: 'STATEMENT_FAILED',
    message: expect.stringMatching(
      /not the one that was set up for this connection: its variable @looseleaf/,
    ),
  })
})

test('the settings of init_connect are overridden', async () => {
  // init_connect does not run for privileged users.
  const limited = await createLimitedUser(bench.url, 'SELECT')
  cleanUp(() => limited.drop())
  const admin = await bench.observe()
  const [globals] = await admin.query<RowDataPacket[]>('SELECT @@GLOBAL.init_connect AS init')
  cleanUp(() => admin.query('SET GLOBAL init_connect = ?', [globals[0]?.init]))
  await admin.query(
    `SET GLOBAL init_connect = "SET SESSION sql_mode = '', autocommit = 0, completion_type = 1, time_zone = '+05:00'"`,
  )
  const plain = await createConnection(limited.url)
  cleanUp(() => plain.end())
  const [zones] = await plain.query<RowDataPacket[]>('SELECT @@SESSION.time_zone AS zone')
  expect(zones).toEqual([{ zone: '+05:00' }])
  await expect(connectThrough((statement) => statement, limited.url)).resolves.toBeUndefined()
})
