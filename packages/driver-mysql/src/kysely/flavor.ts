import type { Flavor } from '@looseleaf/driver-kysely'
import { sql, type RawBuilder } from 'kysely'
import { mysqlFault } from '../errors/errors.ts'
import { ownSession } from '../settings/session-token.ts'
import { batchedSwap } from './batched-swap.ts'

/** Of the server's clock, whatever the zone of its session or its machine. */
const now = sql`UTC_TIMESTAMP(6)`

const epoch = sql`TIMESTAMP'1970-01-01 00:00:00'`

/** In whole numbers from end to end, and up to the year 9999. */
function microsOf(time: RawBuilder<unknown>): RawBuilder<number> {
  return sql`TIMESTAMPDIFF(MICROSECOND, ${epoch}, ${time})`
}

/** By the same key as an upsert, and never by another one: two orders of locking make deadlocks. */
function byKey(table: RawBuilder<unknown>, key: 'PRIMARY' | 'id'): RawBuilder<unknown> {
  return sql`${table} FORCE INDEX (${sql.raw(key)})`
}

/** MySQL and MariaDB, as the shared tables need to know them. Only what both take stands here. */
export const mysqlFlavor: Flavor = {
  types: {
    addedId: 'BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY',
    id: 'BINARY(16)',
    // In UTC, which the statements see to. A TIMESTAMP ends in 2038.
    updated: 'DATETIME(6)',
    floor: "DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00'",
    integer: 'BIGINT UNSIGNED',
    body: 'MEDIUMBLOB',
    text: 'MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
    name: 'VARBINARY(255)',
    columns: {
      uuid: 'BINARY(16)',
      // The bytes of the longest key of a string: every collation of text takes some strings for equal.
      string: 'VARBINARY(544)',
      integer: 'BIGINT',
      number: 'DOUBLE',
      boolean: 'TINYINT',
      time: 'BIGINT',
    },
  },
  columnsOf: {
    statement: (table) => sql`SHOW COLUMNS FROM ${sql.table(table)}`,
    // Some servers show how wide a whole number is printed.
    read: (row) => ({
      name: row.Field,
      type: String(row.Type).replace(/int\(\d+\)/i, 'int'),
      inKey: row.Key === 'PRI',
    }),
  },
  sizes: () => sql`
    SELECT table_name AS name, table_rows AS estimate, data_length + index_length AS bytes
    FROM information_schema.tables WHERE table_schema = DATABASE()`,
  tableOptions: { numbered: 'ENGINE=InnoDB ROW_FORMAT=DYNAMIC', keyed: 'ENGINE=InnoDB ROW_FORMAT=DYNAMIC' },
  inlineKeys: true,
  now,
  nowMicros: microsOf(now),
  next: (time) => sql`${time} + INTERVAL 1 MICROSECOND`,
  microsOf,
  updatedOf: (micros) => sql`(${epoch} + INTERVAL ${micros} MICROSECOND)`,
  // As text that this client does not parse: mysql2 adds up the digits of a double by itself, and is off by a bit
  // for many numbers of sixteen digits. With a length, as in a UNION MariaDB cuts off the text of a long one without.
  numberOf: (column) => sql`CAST(${column} AS CHAR(40))`,
  // A comment to MySQL, which has no such thing for this setting.
  briefly: (statement) => sql`/*M!100108 SET STATEMENT innodb_lock_wait_timeout = 1 FOR */ ${statement}`,
  greatest: 'GREATEST',
  // MariaDB has no FOR SHARE, and MySQL still takes this.
  shareLock: sql`LOCK IN SHARE MODE`,
  integer: (parameter) => sql`CAST(${parameter} AS UNSIGNED)`,
  // NOT NULL would not do: without a strict SQL mode NULL becomes 0 there. Two rows for one value are error 1242 in
  // every mode.
  required: (value) => sql`COALESCE(${value}, (SELECT 1 UNION ALL SELECT 2))`,
  ownSession,
  onDuplicate: () => sql`ON DUPLICATE KEY UPDATE`,
  // MariaDB has no alias for the new row, and MySQL still takes this.
  incoming: (column) => sql`VALUES(${sql.ref(column)})`,
  countsChanges: true,
  updateSource: byKey,
  deleteSource: (table, key) => sql`${table} FROM ${byKey(table, key)}`,
  batchedSwap,
  orderedParts: true,
  unionParts: 128,
  // Each takes a server 12 to 23 kB for each connection.
  preparedParts: 32,
  rowValuesSeek: false,
  // Without a binary log, InnoDB shows a commit before its redo log is written.
  visibleIsDurable: false,
  faultOf: mysqlFault,
}
