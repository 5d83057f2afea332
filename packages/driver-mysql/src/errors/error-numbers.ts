import type { ErrorCode } from '@looseleaf/core'
import { lackingTable, type TableFault } from '@looseleaf/driver-kysely/internal'

/**
 * Facts about an error:
 * - `unsure`: it may come after a write was done, so the outcome of a write is unknown. A read may be retried.
 * - `undone`: the server undid the whole statement because of a conflict with another one. A retry may succeed.
 * - `ends`: the connection cannot be used any more.
 * - `down`: the server cannot be reached, or is shutting down.
 * - `outdated`: the server takes no writes, or no calls at all, so its address may lead to another server by now.
 */
export type ErrorMark = 'unsure' | 'undone' | 'ends' | 'down' | 'outdated'

export type ErrorMeaning = readonly [kind: TableFault | ErrorCode, message: string, ...marks: ErrorMark[]]

/**
 * Error of a number that overflows. A BIGINT is that of a token of another session, see `settings/session-token.ts`, and a DOUBLE that of a
 * value that is `required`, see the flavor. No other statement of the driver calculates.
 */
export const OVERFLOW = 1690

/** Meaning of the second kind. */
export const fenceRefused: ErrorMeaning = ['fence-refused', 'the catalog has another epoch.']

/** Reason for `otherSession`: the token differs. */
export const TOKEN_DIFFERS = 'its variable @looseleaf is not the one that this connection has set'

/** Errors of a value that does not fit its column. Looseleaf checks values before, so the table must have been altered. */
export const COLUMN_MISFITS: ReadonlySet<number> = new Set([1264, 1265, 1292, 1366, 1406])

/** Error of a prepared statement whose number the session does not know. */
export const UNKNOWN_STATEMENT = 1243
/** Error of MariaDB for a wrong number of parameters: in this session the number belongs to another prepared statement. */
export const OTHER_PARAMETERS = 1210
/** Error of MySQL for the same. */
export const OTHER_PACKET = 1835

/** Reason for `otherSession`: a prepared statement is unknown. */
export const STATEMENT_UNKNOWN = 'it does not know a statement that was prepared for this connection'

/** Returns the message for a statement that reached another session, with the reason why that is known. */
export function otherSession(reason: string): string {
  return (
    `the session on the server is not the one that was set up for this connection: ${reason}. A pooler or proxy` +
    ' does not keep one session per connection. Configure it to do so, or connect without it.'
  )
}

const LOST = ['unsure', 'ends', 'down'] as const
const DEADLOCK = 'a deadlock was broken by undoing this statement; nothing was done.'
const SHUTDOWN = 'the server is shutting down.'
const BROKE = 'the connection broke.'
const MEMORY = 'the server is out of memory.'
const DISK = 'the server could not write to its disk.'
const FULL = 'the disk of the server is full. Make room, and writes pass again.'
const READ_ONLY =
  'the server is read-only (read_only), so writes are refused. If it has become a replica, give its new primary as the shard; else set read_only to OFF.'
const READ_ONLY_TRANSACTION =
  'the server begins every transaction as a read-only one (transaction_read_only, before MariaDB 11.1 tx_read_only), so writes are refused. Set it to OFF with SET GLOBAL and in the configuration of the server; if this server is meant for reads, give the primary as the shard.'
const POOL_SIZE = 'each process opens up to that many connections to each shard'
const USER_CONNECTIONS = `the server allows the user no more connections (max_user_connections). Raise the limit, or lower poolSize: ${POOL_SIZE}.`
const KILLED = 'the connection was killed on the server.'
const PRIVILEGE = 'the user lacks a privilege.'
const PASSWORD = 'the password has expired.'
const LOCKED = 'the account is locked.'
const COLUMN = 'a column does not hold a value that Looseleaf stores in it.'
const PROXY = 'the proxy does not reach the server behind it.'

/**
 * Meanings of the error numbers of MariaDB, MySQL and proxies. MariaDB and MySQL share the numbers up to 1,899. A higher number may
 * have two meanings; this table has the one that the statements of this driver can cause. Without a mark, nothing was done and the
 * connection stays usable.
 */
export const errorNumbers: Readonly<Record<number, ErrorMeaning>> = {
  // Files and memory of the server's host.
  3: ['SHARD_UNAVAILABLE', DISK, 'unsure'],
  5: ['SHARD_BUSY', MEMORY],
  20: ['SHARD_FULL', FULL, 'unsure'],

  // Shared by MariaDB and MySQL.
  1020: ['SHARD_BUSY', 'a row has changed since the transaction began; nothing was done.', 'undone'],
  1021: ['SHARD_FULL', FULL, 'unsure'],
  1026: ['SHARD_UNAVAILABLE', DISK, 'unsure'],
  1030: ['SHARD_UNAVAILABLE', 'the storage engine failed; the error log of the server says why.', 'unsure'],
  1036: ['SHARD_UNAVAILABLE', 'the table is read-only.', 'outdated'],
  1037: ['SHARD_BUSY', MEMORY],
  1038: ['SHARD_BUSY', 'the server is out of memory for sorting.'],
  1040: [
    'SHARD_BUSY',
    `the server takes no more connections (max_connections). Raise it, or lower poolSize: ${POOL_SIZE}.`,
    'ends',
  ],
  1041: ['SHARD_BUSY', MEMORY],
  1042: ['SHARD_UNAVAILABLE', 'the server cannot look up the name of this host.', 'ends'],
  1043: ['SHARD_UNAVAILABLE', 'the server did not understand the first words of the connection.', 'ends'],
  1044: ['SHARD_DENIED', 'the user may not use the database.'],
  1045: ['SHARD_DENIED', 'the server refuses the user or the password.'],
  1046: ['SHARD_DENIED', 'no database is selected.'],
  1047: ['SHARD_UNAVAILABLE', 'the node is not ready; has it left its cluster (wsrep)?', 'outdated'],
  1049: ['SHARD_DENIED', 'the database does not exist.'],
  1053: ['SHARD_UNAVAILABLE', SHUTDOWN, ...LOST],
  1054: ['NOT_MIGRATED', lackingTable('column', undefined, [])],
  1062: ['duplicate', 'a row with this key already exists.'],
  1071: [
    'BAD_INDEX',
    'the key is longer than InnoDB takes, which is 3,072 bytes, or fewer with a small innodb_page_size: index fewer strings together.',
  ],
  1077: ['SHARD_UNAVAILABLE', SHUTDOWN, ...LOST],
  1078: ['SHARD_UNAVAILABLE', 'the server was stopped.', ...LOST],
  1079: ['SHARD_UNAVAILABLE', SHUTDOWN, ...LOST],
  1114: [
    'SHARD_FULL',
    'a table or the disk of the server is full; nothing was written. Make room, and writes pass again.',
  ],
  1117: ['BAD_INDEX', 'the index has too many columns.'],
  1118: ['BAD_INDEX', 'the rows of the index would be too long.'],
  1129: ['SHARD_DENIED', 'the server has blocked this host after many failed connections.'],
  1130: ['SHARD_DENIED', 'the server takes no connections from this host.'],
  1135: ['SHARD_BUSY', 'the server can start no more threads.'],
  1142: ['SHARD_DENIED', 'the user lacks a privilege on a table.'],
  1143: ['SHARD_DENIED', 'the user lacks a privilege on a column.'],
  1146: ['no-table', 'a table is missing.'],
  1152: ['SHARD_UNAVAILABLE', 'the server has given up the connection.', ...LOST],
  1153: ['BODY_TOO_LARGE', "the statement is larger than the server's max_allowed_packet.", 'ends'],
  1156: ['SHARD_UNAVAILABLE', BROKE, ...LOST],
  1157: ['SHARD_UNAVAILABLE', BROKE, ...LOST],
  1158: ['SHARD_UNAVAILABLE', BROKE, ...LOST],
  1159: ['SHARD_UNAVAILABLE', BROKE, ...LOST],
  1160: ['SHARD_UNAVAILABLE', BROKE, ...LOST],
  1161: ['SHARD_UNAVAILABLE', BROKE, ...LOST],
  1176: ['NOT_MIGRATED', lackingTable('key', undefined, [])],
  1180: ['SHARD_UNAVAILABLE', 'the server failed to commit.', 'unsure'],
  1184: ['SHARD_UNAVAILABLE', 'the server has given up the connection.', ...LOST],
  1203: ['SHARD_BUSY', USER_CONNECTIONS],
  1205: ['SHARD_BUSY', 'a lock wait timed out; nothing was done.', 'undone'],
  1206: ['SHARD_BUSY', 'the server has too many locks; nothing was done.'],
  1213: ['SHARD_BUSY', DEADLOCK, 'undone'],
  1223: ['SHARD_BUSY', 'the server is locked for reading; nothing was done.'],
  1226: [
    'SHARD_BUSY',
    'the user has reached a limit that the server sets (max_user_connections, MAX_QUERIES_PER_HOUR and their kind); raise it with ALTER USER.',
  ],
  1227: ['SHARD_DENIED', PRIVILEGE],
  1251: ['SHARD_DENIED', 'the server and this client have no authentication method in common.'],
  1264: ['STATEMENT_FAILED', COLUMN],
  1265: ['STATEMENT_FAILED', COLUMN],
  1290: ['SHARD_UNAVAILABLE', READ_ONLY, 'outdated'],
  1292: ['STATEMENT_FAILED', COLUMN],
  1317: ['DEADLINE', 'the statement was interrupted on the server.', 'unsure'],
  1366: ['STATEMENT_FAILED', COLUMN],
  1370: ['SHARD_DENIED', PRIVILEGE],
  1406: ['STATEMENT_FAILED', COLUMN],
  1412: ['SHARD_BUSY', 'a table was changed at the same time; nothing was done.', 'undone'],
  1461: ['SHARD_BUSY', 'the server has no prepared statements left (max_prepared_stmt_count).'],
  1524: ['SHARD_DENIED', "the server lacks the user's authentication method."],
  1586: ['duplicate', 'a row with this key already exists.'],
  1598: ['SHARD_UNAVAILABLE', 'the server could not write its binary log.', 'unsure'],
  1614: ['SHARD_BUSY', DEADLOCK, 'undone'],
  1615: ['SHARD_BUSY', 'a table was changed at the same time; nothing was done.', 'undone'],
  1637: ['SHARD_BUSY', 'the server has too many transactions; nothing was done.'],
  1665: [
    'STATEMENT_FAILED',
    'binlog_format is STATEMENT, which READ COMMITTED does not allow: set it to ROW or MIXED. Nothing was done.',
  ],
  [UNKNOWN_STATEMENT]: ['STATEMENT_FAILED', otherSession(STATEMENT_UNKNOWN), 'ends'],
  [OTHER_PARAMETERS]: ['STATEMENT_FAILED', otherSession(STATEMENT_UNKNOWN), 'ends'],
  [OTHER_PACKET]: ['STATEMENT_FAILED', otherSession(STATEMENT_UNKNOWN), 'ends'],
  [OVERFLOW]: ['STATEMENT_FAILED', otherSession(TOKEN_DIFFERS), 'ends'],
  1698: ['SHARD_DENIED', 'the server refuses the user.'],
  1792: ['SHARD_UNAVAILABLE', READ_ONLY_TRANSACTION, 'outdated'],
  1820: ['SHARD_DENIED', PASSWORD],
  1836: ['SHARD_UNAVAILABLE', READ_ONLY, 'outdated'],
  1862: ['SHARD_DENIED', PASSWORD],
  1874: ['SHARD_UNAVAILABLE', 'the server is read-only (innodb_read_only).', 'outdated'],

  // MariaDB.
  1927: ['SHARD_UNAVAILABLE', KILLED, 'unsure', 'ends'],
  1969: ['DEADLINE', 'the statement took longer than the server allows (max_statement_time).', 'unsure'],
  4151: ['SHARD_DENIED', LOCKED],

  // Numbers of client libraries for lost connections, as proxies send them.
  2002: ['SHARD_UNAVAILABLE', PROXY, ...LOST],
  2003: ['SHARD_UNAVAILABLE', PROXY, ...LOST],
  2006: ['SHARD_UNAVAILABLE', PROXY, ...LOST],
  2013: ['SHARD_UNAVAILABLE', PROXY, ...LOST],
  2020: ['BODY_TOO_LARGE', "the statement is larger than the server's max_allowed_packet.", 'ends'],

  // MySQL.
  3024: ['DEADLINE', 'the statement took longer than the server allows (max_execution_time).', 'unsure'],
  3032: ['SHARD_UNAVAILABLE', 'the server is offline (offline_mode).', ...LOST],
  3100: ['SHARD_UNAVAILABLE', 'the replication group did not take the write.', 'unsure'],
  3101: ['SHARD_BUSY', 'the replication group has undone the write.', 'undone'],
  3118: ['SHARD_DENIED', LOCKED],
  3159: ['SHARD_DENIED', 'the server takes encrypted connections only: set the option tls.'],
  3168: ['SHARD_UNAVAILABLE', 'the server is not available.', ...LOST],
  3169: ['SHARD_UNAVAILABLE', KILLED, 'unsure', 'ends'],
  3572: ['SHARD_BUSY', 'a lock was not given at once; nothing was done.', 'undone'],
  3955: ['SHARD_DENIED', 'the account is locked after many wrong passwords.'],
  4031: [
    'SHARD_UNAVAILABLE',
    'the server had closed the connection because it was idle; nothing was done.',
    'ends',
  ],

  // ProxySQL.
  9001: ['SHARD_UNAVAILABLE', PROXY, 'unsure', 'down'],
  9002: ['SHARD_UNAVAILABLE', PROXY, 'unsure', 'down'],
  9004: ['SHARD_UNAVAILABLE', PROXY, 'unsure', 'down'],
}

/** Second meaning of 1226, for a message that names max_user_connections. */
export const userConnections: ErrorMeaning = ['SHARD_BUSY', USER_CONNECTIONS]

/** Errors of files, whose messages contain the number of the operating system's error. */
export const fileErrors: ReadonlySet<number> = new Set([
  2, 3, 4, 11, 15, 20, 29, 1004, 1005, 1016, 1021, 1025, 1026, 1030, 1180, 1598, 1878,
])

/** Meaning of a file error with ENOSPC or EDQUOT. */
export const diskFull: ErrorMeaning = ['SHARD_FULL', FULL, 'unsure']

/** Errors of preparing: not possible for this statement, too many prepared ones, and a table that changed too often. */
export const NOT_PREPARED: ReadonlySet<number> = new Set([1295, 1461, 1615])

/** Error of a command that the server, or a proxy, does not allow. */
export const NOT_ALLOWED = 1148

/** Second meaning of 1290, for a message that names NO_ENGINE_SUBSTITUTION. */
export const engineEnforced: ErrorMeaning = [
  'STATEMENT_FAILED',
  'tables need InnoDB, and the server enforces another engine (enforce_storage_engine).',
]

/**
 * Errors of statements that the server rejects before it does anything, such as a syntax error. The driver's statements should cause
 * none of them. Any number that is neither here nor in `errorNumbers` may come after a write was done.
 */
export const refusedOutright: ReadonlySet<number> = new Set([
  1048, 1050, 1051, 1060, 1061, 1064, 1065, 1067, 1068, 1069, 1070, 1072, 1074, 1075, 1101, 1103, 1109, 1110,
  1111, 1115, 1121, 1136, 1149, 1163, 1170, 1175, 1193, 1221, 1222, 1228, 1229, 1231, 1232, 1233, 1235, 1241,
  1248, 1273, 1286, 1295, 1300, 1305, 1364, 1390, 1391, 1436, 1582, 1583, 1584, 3819, 4025,
])
