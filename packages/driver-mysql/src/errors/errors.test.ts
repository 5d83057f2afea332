import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { clientError, endsConnection, mysqlFault, saysDown, saysOutdated } from './errors.ts'

const serverError = (errno: number, code: string): Error =>
  Object.assign(new Error("Duplicate entry 'secret' for key"), {
    errno,
    code,
    sql: 'INSERT secret',
    sqlMessage: 'secret',
  })

describe('an answer of the server is certain, for reads and writes', () => {
  for (const [errno, code, kind] of [
    [1062, 'ER_DUP_ENTRY', 'duplicate'],
    [1690, 'ER_DATA_OUT_OF_RANGE', 'STATEMENT_FAILED'],
    [1146, 'ER_NO_SUCH_TABLE', 'no-table'],
    [1054, 'ER_BAD_FIELD_ERROR', 'NOT_MIGRATED'],
    [1205, 'ER_LOCK_WAIT_TIMEOUT', 'SHARD_BUSY'],
    [1213, 'ER_LOCK_DEADLOCK', 'SHARD_BUSY'],
    [1040, 'ER_CON_COUNT_ERROR', 'SHARD_BUSY'],
    [1045, 'ER_ACCESS_DENIED_ERROR', 'SHARD_DENIED'],
    [1049, 'ER_BAD_DB_ERROR', 'SHARD_DENIED'],
    [1290, 'ER_OPTION_PREVENTS_STATEMENT', 'SHARD_UNAVAILABLE'],
    [1153, 'ER_NET_PACKET_TOO_LARGE', 'BODY_TOO_LARGE'],
    [1064, 'ER_PARSE_ERROR', 'STATEMENT_FAILED'],
  ] as const) {
    test(`${errno} ${code} is ${kind}`, () => {
      for (const write of [false, true]) expect(mysqlFault(serverError(errno, code), write).kind).toBe(kind)
    })
  }
})

test.each([
  [
    "INSERT command denied to user 'app'@'host' for table `feed`.`looseleaf_codec`",
    'the privilege INSERT on the table looseleaf_codec.',
  ],
  [
    "SELECT command denied to user 'app'@'host' for table 'entities'",
    'the privilege SELECT on the table entities.',
  ],
  [
    "INSERT, DELETE command denied to user 'app'@'host' for table 'entities'",
    'the privilege INSERT, DELETE on the table entities.',
  ],
  ['something else', 'a privilege on a table.'],
])('the error for a missing privilege names it and the table, and no user: %s', (text, words) => {
  const error = Object.assign(new Error(text), { errno: 1142, code: 'ER_TABLEACCESS_DENIED_ERROR' })
  expect(mysqlFault(error, true)).toMatchObject({ kind: 'SHARD_DENIED', message: `the user lacks ${words}` })
})

test.each([
  [
    "Unknown column 'e.body' in 'SELECT'",
    'SELECT `e`.`body` FROM `index_a` JOIN entities e WHERE `e`.`id` = (SELECT 1 FROM `index_a`)',
    'a table of index_a, entities lacks the column body that',
  ],
  [
    "Unknown column 'version' in 'WHERE'",
    'UPDATE `entities` SET x = 1',
    'the table entities lacks the column version that',
  ],
  ["Unknown column 'version' in 'WHERE'", undefined, 'a table lacks the column version that'],
  ['Unbekanntes Feld', 'DELETE FROM `entities`', 'the table entities lacks a column that'],
  [
    "Key 'id' doesn't exist in table 'entities'",
    'DELETE FROM `entities`',
    'the table entities lacks the key id that',
  ],
  ['Schluessel', undefined, 'a table lacks a key that'],
])(
  'the error %j names the tables and the part that is missing, and is certain for writes',
  (text, sql, words) => {
    const errno = /key|schl/i.test(text) ? 1176 : 1054
    const error = Object.assign(new Error(text), { errno, code: 'ER', sql })
    for (const write of [false, true]) {
      expect(mysqlFault(error, write)).toMatchObject({
        kind: 'NOT_MIGRATED',
        message: `${words} this version of Looseleaf expects. Another version of Looseleaf or another program made the table.`,
      })
    }
  },
)

describe('a write without an answer is OUTCOME_UNKNOWN', () => {
  for (const [name, error] of [
    ['ECONNRESET', Object.assign(new Error('read'), { code: 'ECONNRESET', errno: -104, fatal: true })],
    [
      'PROTOCOL_CONNECTION_LOST',
      Object.assign(new Error('lost'), { code: 'PROTOCOL_CONNECTION_LOST', fatal: true }),
    ],
    ['an error without a code', new Error("Can't add new command when connection is in closed state")],
    ['1053 shutdown', serverError(1053, 'ER_SERVER_SHUTDOWN')],
    ['1927 killed', serverError(1927, 'ER_CONNECTION_KILLED')],
    ['1180 commit failed', serverError(1180, 'ER_ERROR_DURING_COMMIT')],
  ] as const) {
    test(name, () => {
      expect(mysqlFault(error, true).kind).toBe('OUTCOME_UNKNOWN')
      expect(mysqlFault(error, false).kind).toBe('SHARD_UNAVAILABLE')
    })
  }

  test('a write that was not sent is SHARD_UNAVAILABLE', () => {
    expect(mysqlFault(clientError('CONNECTION_GONE'), true).kind).toBe('SHARD_UNAVAILABLE')
  })

  test('a write at its deadline is OUTCOME_UNKNOWN, and a read is DEADLINE', () => {
    expect(mysqlFault(clientError('CALL_DEADLINE'), true).kind).toBe('OUTCOME_UNKNOWN')
    expect(mysqlFault(clientError('CALL_DEADLINE'), false).kind).toBe('DEADLINE')
  })
})

test('the error for an enforced engine differs from that for a read-only server', () => {
  const error = serverError(1290, 'ER_OPTION_PREVENTS_STATEMENT')
  error.message =
    'The MariaDB server is running with the NO_ENGINE_SUBSTITUTION option so it cannot execute this statement'
  for (const write of [false, true]) {
    expect(mysqlFault(error, write)).toMatchObject({
      kind: 'STATEMENT_FAILED',
      message: expect.stringContaining('enforce_storage_engine'),
    })
  }
})

test('an error of JavaScript itself is not a lost connection, and does not count against the server', () => {
  for (const error of [new EvalError('secret'), new TypeError('secret'), new RangeError('secret')]) {
    const { name } = error
    expect(mysqlFault(error, false)).toMatchObject({ kind: 'STATEMENT_FAILED', cause: { message: name } })
    expect(mysqlFault(error, true).kind).toBe('OUTCOME_UNKNOWN')
    expect([saysDown(error), endsConnection(error)]).toEqual([false, true])
    expect(inspect(mysqlFault(error, false))).not.toMatch(/secret/)
  }
  expect(mysqlFault(new EvalError(), false).message).toMatch(/--disallow-code-generation-from-strings/)
  // Errors of Node and of mysql2 still mean a lost connection.
  expect(saysDown(Object.assign(new RangeError(), { code: 'ERR_OUT_OF_RANGE' }))).toBe(true)
  expect(saysDown(new Error('closed state'))).toBe(true)
})

test('a fault for a missing table has its name', () => {
  const error = Object.assign(new Error("Table 'secret.looseleaf_tasks' doesn't exist"), { errno: 1146 })
  expect(mysqlFault(error, true)).toMatchObject({ kind: 'no-table', table: 'looseleaf_tasks' })
})

test('the error for a value that does not fit names the column and the table, and no value', () => {
  const misfit = (message: string, errno: number): unknown =>
    mysqlFault(
      Object.assign(new Error(message), { errno, sql: 'INSERT INTO `entities` VALUES (secret)' }),
      true,
    )
  expect(misfit("Data too long for column 'body' at row 1", 1406)).toMatchObject({
    kind: 'BODY_TOO_LARGE',
    message: expect.stringMatching(
      /^the column body of the table entities does not hold .*looseleaf schema/,
    ) as string,
  })
  expect(
    misfit("Incorrect integer value: 'secret' for column `d`.`entities`.`version` at row 2", 1366),
  ).toMatchObject({
    kind: 'STATEMENT_FAILED',
    message: expect.stringMatching(/^the column version of the table entities/) as string,
  })
})

test('a server that cannot be reached is SHARD_UNAVAILABLE, also for a write, which was not sent', () => {
  for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH']) {
    expect(mysqlFault(Object.assign(new Error(code), { code, errno: -111 }), true).kind).toBe(
      'SHARD_UNAVAILABLE',
    )
  }
})

test('no fault shows the statement, its values or the server’s words', () => {
  for (const errno of [1062, 1064, 1205, 1927, 9999]) {
    expect(
      inspect(mysqlFault(serverError(errno, 'ER_SOME'), true), { depth: 9, showHidden: true }),
    ).not.toMatch(/secret/)
  }
})

test.each([
  [1030, 'Got error 28 "No space left on device" from storage engine InnoDB'],
  [3, 'Error writing file \'./feed/secret.ibd\' (Errcode: 28 "No space left on device")'],
  [1026, "Error writing file 'secret' (errno: 28 - No space left on device)"],
  [1005, 'Can\'t create table `feed`.`secret` (errno: 122 "Disk quota exceeded")'],
])('the error of a file, %i, with a full disk or quota is SHARD_FULL', (errno, message) => {
  const error = Object.assign(new Error(message), { errno, code: 'ER_SOME' })
  expect(mysqlFault(error, false)).toMatchObject({
    kind: 'SHARD_FULL',
    message: expect.stringMatching(/disk of the server is full. Make room/) as string,
  })
  // The write may already be in the log.
  expect(mysqlFault(error, true)).toMatchObject({
    kind: 'OUTCOME_UNKNOWN',
    message: expect.stringMatching(/is full/) as string,
  })
  expect(inspect(mysqlFault(error, true), { depth: 9 })).not.toMatch(/secret/)
})

test('the error of a file with another reason is not SHARD_FULL, whatever names it has', () => {
  for (const message of [
    'Got error 168 "Unknown (generic) error from engine" from storage engine InnoDB',
    'Error writing file \'./feed/28.ibd\' (Errcode: 13 "Permission denied")',
  ])
    expect(mysqlFault(Object.assign(new Error(message), { errno: 1030 }), false).kind).toBe(
      'SHARD_UNAVAILABLE',
    )
})

test.each(['--read-only', '--super-read-only', '--innodb-read-only'])(
  'a statement that the option %s prevents is one on a read-only server',
  (option) => {
    const error = serverError(1290, 'ER_OPTION_PREVENTS_STATEMENT')
    error.message = `The server is running with the ${option} option so it cannot execute this statement`
    expect([mysqlFault(error, true).kind, saysOutdated(error)]).toEqual(['SHARD_UNAVAILABLE', true])
  },
)

test('the error for a statement that another option prevents names the option, without its value', () => {
  const error = serverError(1290, 'ER_OPTION_PREVENTS_STATEMENT')
  error.message =
    'The server is running with the --max-session-mem-used=600000 option so it cannot execute this statement'
  const message = 'the server refused a statement because of its option max-session-mem-used.'
  expect(mysqlFault(error, false)).toMatchObject({ kind: 'STATEMENT_FAILED', message })
  expect(mysqlFault(error, true).kind).toBe('OUTCOME_UNKNOWN')
  expect(saysOutdated(error)).toBe(false)
})

test.each([
  [1040, 'max_connections'],
  [1040, 'poolSize'],
  [1071, 'innodb_page_size'],
  [1203, 'max_user_connections'],
  [1203, 'poolSize'],
  [1226, 'max_user_connections'],
  [1792, 'transaction_read_only'],
  [1792, 'tx_read_only'],
])('the error %i names the setting that may cause it: %s', (errno, setting) => {
  expect(mysqlFault(serverError(errno, 'ER'), false).message).toContain(setting)
})

test.each([
  ["User 'max_a' has exceeded the 'max_user_connections' resource (current value: 1)", 'poolSize'],
  ["Benutzer 'max_a' hat die Ressourcenbeschränkung 'max_queries_per_hour' überschritten (9)", 'ALTER USER'],
])('the error for a limit of a user names it and the remedy, and no user: %s', (text, remedy) => {
  const limit = /max_[a-z]+_[a-z_]+/.exec(text)?.[0] as string
  const { kind, message } = mysqlFault(Object.assign(new Error(text), { errno: 1226 }), true)
  expect(kind).toBe('SHARD_BUSY')
  for (const part of [limit, remedy]) expect(message).toContain(part)
  expect(message).not.toMatch(/max_a/)
})

test('errors of a server that takes no writes or no calls are told from those of an enforced engine and all others', () => {
  for (const errno of [1036, 1047, 1290, 1792, 1836, 1874])
    expect(saysOutdated(serverError(errno, 'ER'))).toBe(true)
  const engine = Object.assign(serverError(1290, 'ER'), { message: 'NO_ENGINE_SUBSTITUTION' })
  for (const error of [engine, serverError(1205, 'ER'), new Error('lost'), undefined])
    expect(saysOutdated(error)).toBe(false)
})
