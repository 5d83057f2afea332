import { describe, expect, test } from 'vitest'
import { LooseleafError, errorCodes, type ErrorCode } from '@looseleaf/core'
import { errorNumbers, refusedOutright } from './error-numbers.ts'
import { clientError, endsConnection, mysqlFault, saysDown } from './errors.ts'

const serverError = (errno: number, text = 'secret'): Error =>
  Object.assign(new Error(text), { errno, code: 'ER_SOME', sql: 'secret', sqlMessage: text })

/** Each row: error, fault of a read, fault of a write, whether it ends the connection, whether it counts against the server. */
type Row = readonly [name: string, error: Error, read: string, write: string, ...marks: ('ends' | 'down')[]]

const server = (
  what: string,
  errno: number,
  read: string,
  write: string,
  ...marks: ('ends' | 'down')[]
): Row => [`${errno} ${what}`, serverError(errno), read, write, ...marks]

const client = (
  what: string,
  code: string | undefined,
  read: string,
  write: string,
  more: object = {},
): Row => [
  what,
  Object.assign(new Error('secret'), code === undefined ? {} : { code }, more),
  read,
  write,
  'ends',
  'down',
]

const UNKNOWN = 'OUTCOME_UNKNOWN'
const AWAY = 'SHARD_UNAVAILABLE'
const BUSY = 'SHARD_BUSY'
const DENIED = 'SHARD_DENIED'
const FULL = 'SHARD_FULL'

const rows: readonly Row[] = [
  server('deadlock', 1213, BUSY, BUSY),
  server('deadlock of XA', 1614, BUSY, BUSY),
  server('lock wait timeout', 1205, BUSY, BUSY),
  server('lock not given at once', 3572, BUSY, BUSY),
  server('lock table full', 1206, BUSY, BUSY),
  server('row changed since the snapshot', 1020, BUSY, BUSY),
  server('statement has to be prepared anew', 1615, BUSY, BUSY),
  server('read_only', 1290, AWAY, AWAY),
  server('transaction READ ONLY', 1792, AWAY, AWAY),
  server('read-only mode', 1836, AWAY, AWAY),
  server('innodb_read_only', 1874, AWAY, AWAY),
  server('too many connections', 1040, BUSY, BUSY, 'ends'),
  server('max_user_connections', 1203, BUSY, BUSY),
  server('user limit', 1226, BUSY, BUSY),
  server('no thread', 1135, BUSY, BUSY),
  server('disk full', 1021, FULL, UNKNOWN),
  server('table full', 1114, FULL, FULL),
  server('error writing a file', 3, AWAY, UNKNOWN),
  server('disk full of a file', 20, FULL, UNKNOWN),
  server('error on write', 1026, AWAY, UNKNOWN),
  server('HA_ERR', 1030, AWAY, UNKNOWN),
  server('binary log', 1598, AWAY, UNKNOWN),
  server('out of memory', 1037, BUSY, BUSY),
  server('out of sort memory', 1038, BUSY, BUSY),
  server('out of resources', 1041, BUSY, BUSY),
  server('out of memory of a file', 5, BUSY, BUSY),
  server('packet too large', 1153, 'BODY_TOO_LARGE', 'BODY_TOO_LARGE', 'ends'),
  server('packet too large, by a client', 2020, 'BODY_TOO_LARGE', 'BODY_TOO_LARGE', 'ends'),
  server('shutdown', 1053, AWAY, UNKNOWN, 'ends', 'down'),
  server('killed connection, MariaDB', 1927, AWAY, UNKNOWN, 'ends'),
  server('killed connection, MySQL', 3169, AWAY, UNKNOWN, 'ends'),
  server('offline mode', 3032, AWAY, UNKNOWN, 'ends', 'down'),
  server('idle for too long', 4031, AWAY, AWAY, 'ends'),
  server('commit failed', 1180, AWAY, UNKNOWN),
  server('killed query', 1317, 'DEADLINE', UNKNOWN),
  server('max_statement_time', 1969, 'DEADLINE', UNKNOWN),
  server('max_execution_time', 3024, 'DEADLINE', UNKNOWN),
  server('Galera not ready', 1047, AWAY, AWAY),
  server('group replication refuses', 3100, AWAY, UNKNOWN),
  server('group replication rolls back', 3101, BUSY, BUSY),
  server('unknown database', 1049, DENIED, DENIED),
  server('unknown table', 1146, 'no-table', 'no-table'),
  server('unknown column', 1054, 'NOT_MIGRATED', 'NOT_MIGRATED'),
  server('unknown key', 1176, 'NOT_MIGRATED', 'NOT_MIGRATED'),
  server('access to the database', 1044, DENIED, DENIED),
  server('password', 1045, DENIED, DENIED),
  server('privilege on a table', 1142, DENIED, DENIED),
  server('user refused', 1698, DENIED, DENIED),
  server('authentication method', 1251, DENIED, DENIED),
  server('plugin of authentication', 1524, DENIED, DENIED),
  server('encrypted connections only', 3159, DENIED, DENIED),
  server('expired password', 1820, DENIED, DENIED),
  server('locked account, MySQL', 3118, DENIED, DENIED),
  server('locked account, MariaDB', 4151, DENIED, DENIED),
  server('prepared statements', 1461, BUSY, BUSY),
  server('data too long', 1406, 'STATEMENT_FAILED', 'STATEMENT_FAILED'),
  server('out of range', 1264, 'STATEMENT_FAILED', 'STATEMENT_FAILED'),
  server('duplicate', 1062, 'duplicate', 'duplicate'),
  [
    '1690 another epoch',
    serverError(1690, "DOUBLE value is out of range in 'exp(1000 + octet_length(@`looseleaf`))'"),
    'fence-refused',
    'fence-refused',
  ],
  [
    '1690 another epoch, of a server that speaks German',
    serverError(1690, "DOUBLE-Wert ist außerhalb des gültigen Bereichs in 'exp(1008)'"),
    'fence-refused',
    'fence-refused',
  ],
  server('a session without its token', 1690, 'STATEMENT_FAILED', 'STATEMENT_FAILED', 'ends'),
  server(
    'a prepared statement of another session, MySQL',
    1835,
    'STATEMENT_FAILED',
    'STATEMENT_FAILED',
    'ends',
  ),
  server('key too long', 1071, 'BAD_INDEX', 'BAD_INDEX'),
  server('lost server, by a proxy', 2013, AWAY, UNKNOWN, 'ends', 'down'),
  server('unreachable server, by ProxySQL', 9001, AWAY, UNKNOWN, 'down'),
  server('a binary log of statements', 1665, 'STATEMENT_FAILED', 'STATEMENT_FAILED'),
  server('syntax', 1064, 'STATEMENT_FAILED', 'STATEMENT_FAILED'),
  server('too many transactions', 1637, BUSY, BUSY),
  server('a check that did not hold', 4025, 'STATEMENT_FAILED', 'STATEMENT_FAILED'),
  server('an unknown number', 60_000, 'STATEMENT_FAILED', UNKNOWN),
  server('an unknown number of both servers', 1_105, 'STATEMENT_FAILED', UNKNOWN),
  server('an unknown number of a file', 999, 'STATEMENT_FAILED', UNKNOWN),

  client('refused', 'ECONNREFUSED', AWAY, AWAY, { errno: -111 }),
  client('unknown host', 'ENOTFOUND', AWAY, AWAY, { errno: -3008 }),
  client('DNS that does not answer', 'EAI_AGAIN', AWAY, AWAY, { errno: -3001 }),
  client('no route', 'EHOSTUNREACH', AWAY, AWAY, { errno: -113 }),
  client('reset', 'ECONNRESET', AWAY, UNKNOWN, { errno: -104, fatal: true }),
  client('broken pipe', 'EPIPE', AWAY, UNKNOWN, { errno: -32, fatal: true }),
  client('keep-alive not answered', 'ETIMEDOUT', AWAY, UNKNOWN, { errno: -110 }),
  client('closed by the server', 'PROTOCOL_CONNECTION_LOST', AWAY, UNKNOWN, { fatal: true }),
  client('packets out of order', 'PROTOCOL_PACKETS_OUT_OF_ORDER', AWAY, UNKNOWN, { fatal: true }),
  client('an unexpected packet', 'PROTOCOL_UNEXPECTED_PACKET', AWAY, UNKNOWN, { fatal: true }),
  client('a closed state without a code', undefined, AWAY, UNKNOWN, { fatal: true }),
  client('a TLS handshake that broke', 'HANDSHAKE_SSL_ERROR', AWAY, UNKNOWN, { errno: -104 }),
  ['no TLS', Object.assign(new Error(''), { code: 'HANDSHAKE_NO_SSL_SUPPORT' }), DENIED, DENIED, 'ends'],
  [
    'a key that cannot be read',
    Object.assign(new Error(''), { code: 'ERR_OSSL_UNSUPPORTED' }),
    DENIED,
    DENIED,
    'ends',
  ],
  ['expired certificate', Object.assign(new Error(''), { code: 'CERT_HAS_EXPIRED' }), DENIED, DENIED, 'ends'],
  [
    'certificate of another',
    Object.assign(new Error(''), { code: 'HANDSHAKE_SSL_ERROR', cert: {} }),
    DENIED,
    DENIED,
    'ends',
  ],
  ['deadline', clientError('CALL_DEADLINE'), 'DEADLINE', UNKNOWN, 'ends'],
  ['deadline before sending', clientError('CALL_TOO_LATE'), 'DEADLINE', 'DEADLINE', 'ends'],
  ['too large to be sent', clientError('PACKET_TOO_LARGE'), 'BODY_TOO_LARGE', 'BODY_TOO_LARGE', 'ends'],
  ['lost before sending', clientError('CONNECTION_GONE'), AWAY, AWAY, 'ends', 'down'],
]

describe.each(rows)('%s', (_what, error, read, write, ...marks) => {
  test(`a fault is ${read} for a read and ${write} for a write`, () => {
    expect([mysqlFault(error, false).kind, mysqlFault(error, true).kind]).toEqual([read, write])
  })

  test(`${marks.length === 0 ? 'leaves the connection as it was' : marks.join(' and ')}`, () => {
    expect({ ends: endsConnection(error), down: saysDown(error) }).toEqual({
      ends: marks.includes('ends'),
      down: marks.includes('down'),
    })
  })
})

const isCode = (kind: string): kind is ErrorCode => kind in errorCodes

test('a write is OUTCOME_UNKNOWN for exactly the numbers that may come after it was done', () => {
  for (const [number, [kind, message, ...marks]] of Object.entries(errorNumbers)) {
    const fault = mysqlFault(serverError(Number(number)), true)
    const unsure = marks.includes('unsure')
    expect([number, fault.kind]).toEqual([number, unsure ? UNKNOWN : kind])
    // A message must not promise anything about a write that may have been done.
    if (unsure) expect(message).not.toMatch(/nothing was/)
    if (isCode(fault.kind)) expect(new LooseleafError(fault.kind, '').unknownOutcome).toBe(unsure)
  }
})

test('an error that ends by itself is retryable, and one that needs a person is not', () => {
  const retryable = Object.values(errorNumbers).filter(
    ([kind]) => isCode(kind) && new LooseleafError(kind, '').retryable,
  )
  const permanent = Object.values(errorNumbers).filter(
    ([kind]) => isCode(kind) && !new LooseleafError(kind, '').retryable,
  )
  expect(new Set(retryable.map(([kind]) => kind))).toEqual(new Set([AWAY, FULL, BUSY, 'DEADLINE']))
  expect(new Set(permanent.map(([kind]) => kind))).toEqual(
    new Set([DENIED, 'NOT_MIGRATED', 'BAD_INDEX', 'BODY_TOO_LARGE', 'STATEMENT_FAILED']),
  )
})

test('a number has one meaning', () => {
  expect([...refusedOutright].filter((number) => number in errorNumbers)).toEqual([])
})

test('every message is a sentence', () => {
  for (const [, message] of Object.values(errorNumbers)) expect(message).toMatch(/^[a-z].*[.?]$/)
})
