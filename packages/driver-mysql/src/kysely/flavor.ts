import type { Flavor } from '@looseleaf/driver-kysely'
import { sql, type RawBuilder } from 'kysely'
import { mysqlFault } from '../errors/errors.ts'
import { ownSession } from '../settings/session-token.ts'
import { batchedSwap } from './batched-swap.ts'
import { checksumOf } from './checksum-of.ts'
import { removeOfWinners } from './remove-of-winners.ts'

/** The server's time in UTC, in any time zone of the session or the host. */
const now = sql`UTC_TIMESTAMP(6)`

const epoch = sql`TIMESTAMP'1970-01-01 00:00:00'`

/** Calculates in whole numbers, and up to the year 9999. */
function microsOf(time: RawBuilder<unknown>): RawBuilder<number> {
  return sql`TIMESTAMPDIFF(MICROSECOND, ${epoch}, ${time})`
}

/** Finds rows by the key that upserts use. Another key would lock them in another order, and so cause deadlocks. */
function byKey(table: RawBuilder<unknown>, key: 'PRIMARY' | 'id'): RawBuilder<unknown> {
  return sql`${table} FORCE INDEX (${sql.raw(key)})`
}

/** Describes MySQL and MariaDB, by SQL that both accept. */
export const mysqlFlavor: Flavor = {
  types: {
    addedId: 'BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY',
    id: 'BINARY(16)',
    // The statements write UTC. A TIMESTAMP would end in 2038.
    updated: 'DATETIME(6)',
    floor: "DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00'",
    integer: 'BIGINT UNSIGNED',
    body: 'MEDIUMBLOB',
    text: 'MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
    name: 'VARBINARY(255)',
    columns: {
      uuid: 'BINARY(16)',
      // Bytes, because every collation treats some different strings as equal. The length is that of the longest string key.
      string: 'VARBINARY(544)',
      integer: 'BIGINT',
      number: 'DOUBLE',
      boolean: 'TINYINT',
      time: 'BIGINT',
    },
  },
  columnsOf: {
    statement: (table) => sql`SHOW COLUMNS FROM ${sql.table(table)}`,
    // Some servers add a display width to integer types, and MariaDB a comment: to compressed columns, and to times of `mysql56_temporal_format=OFF`.
    read: (row) => ({
      name: row.Field,
      type: String(row.Type)
        .replace(/int\(\d+\)/i, 'int')
        .replace(/ \/\*.*\*\/$/, ''),
      inKey: row.Key === 'PRI',
    }),
  },
  // A user needs no right but CREATE for this, and SELECT.
  createLikeMissing: (table) => sql`CREATE TABLE ${sql.table(table)} LIKE ${sql.table(`${table}_source`)}`,
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
  // As text, because mysql2 parses doubles itself and misses the last bit of many numbers of 16 digits. With a length, because
  // MariaDB truncates longer texts in a UNION without one.
  numberOf: (column) => sql`CAST(${column} AS CHAR(40))`,
  checksumOf,
  // A comment for MySQL, which cannot set this for one statement.
  briefly: (statement) => sql`/*M!100108 SET STATEMENT innodb_lock_wait_timeout = 1 FOR */ ${statement}`,
  greatest: 'GREATEST',
  // MariaDB has no FOR SHARE, and MySQL still accepts this.
  shareLock: sql`LOCK IN SHARE MODE`,
  exclusiveLock: sql`FOR UPDATE`,
  integer: (parameter) => sql`CAST(${parameter} AS UNSIGNED)`,
  // Without a strict SQL mode, NULL becomes 0 in a NOT NULL column. A DOUBLE that overflows is an error in every mode. The token makes the
  // expression one that no server evaluates in advance.
  required: (value) => sql`COALESCE(${value}, CAST(EXP(1000 + LENGTH(@looseleaf)) AS UNSIGNED))`,
  ownSession,
  onDuplicate: () => sql`ON DUPLICATE KEY UPDATE`,
  // MariaDB has no alias for the new row, and MySQL still accepts this.
  incoming: (column) => sql`VALUES(${sql.ref(column)})`,
  countsChanges: true,
  updateSource: byKey,
  selectSource: byKey,
  deleteSource: (table, key) => sql`${table} FROM ${byKey(table, key)}`,
  batchedSwap,
  removeOfWinners,
  orderedParts: true,
  unionParts: 128,
  // Each part takes 12 to 23 kB of a server's memory per connection.
  preparedParts: 32,
  rowValuesSeek: false,
  // Without a binary log, InnoDB makes a commit visible before its redo log is on disk.
  visibleIsDurable: false,
  faultOf: mysqlFault,
}
