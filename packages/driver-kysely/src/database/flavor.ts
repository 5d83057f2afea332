import { crc32 } from 'node:zlib'
import type { ErrorCode } from '@looseleaf/core'
import type { ColumnType, EntitySwap } from '@looseleaf/core/internal'
import { sql, type QueryResult, type RawBuilder } from 'kysely'
import type { BoundStatement, Row, Session } from './session.ts'

/** Describes one kind of database as data. All other code of this package is the same for every database. */
export interface Flavor {
  /** Column types: the text after the column's name in `CREATE TABLE`, without `NOT NULL`. */
  readonly types: {
    /** Primary key that the database numbers by itself. */
    readonly addedId: string
    readonly id: string
    /** Time of a write, as `now` returns it. */
    readonly updated: string
    /** The type of `updated`, with `NOT NULL` and the start of 1970 as its default. */
    readonly floor: string
    /** Unsigned integers up to 2^53. */
    readonly integer: string
    readonly body: string
    /** Unicode text of up to 16 MiB. */
    readonly text: string
    /** Names of up to 255 bytes, compared byte by byte. */
    readonly name: string
    readonly columns: Readonly<Record<ColumnType, string>>
  }
  /** Reads the columns of a table: their names, their types (in the words of `types`), and whether the primary key has them. */
  readonly columnsOf: {
    statement(table: string): RawBuilder<unknown>
    read(row: Readonly<Record<string, unknown>>): {
      readonly name: unknown
      readonly type: unknown
      readonly inKey: boolean
    }
  }
  /**
   * Creates a table like another one that does not exist. The statement changes nothing: it fails with `no-table` if the user may create
   * tables.
   */
  createLikeMissing(table: string): RawBuilder<unknown>
  /**
   * Selects the statistics of the tables: `name`, `estimate` of the rows and `bytes`, the last two NULL where unknown. A row
   * with a NULL name holds the bytes of the whole database, for databases where they are not the sum of the tables.
   */
  sizes(entityTable: string): RawBuilder<unknown>
  /** Text after the closing parenthesis of `CREATE TABLE`: `numbered` for a table with an `addedId`, `keyed` for all others. */
  readonly tableOptions: { readonly numbered: string; readonly keyed: string }
  /** True if `CREATE TABLE` has lines for secondary keys; false if each needs a `CREATE INDEX`. */
  readonly inlineKeys: boolean
  /** The current time as the column `updated` stores it. */
  readonly now: RawBuilder<unknown>
  /** The current time in µs since 1970. */
  readonly nowMicros: RawBuilder<number>
  /** The smallest value of the column `updated` that is later than this one. */
  next(updated: RawBuilder<unknown>): RawBuilder<unknown>
  /** A value of `updated` in µs since 1970. */
  microsOf(updated: RawBuilder<unknown>): RawBuilder<number>
  /** A number of µs since 1970 as the column `updated` stores it. */
  updatedOf(micros: RawBuilder<unknown>): RawBuilder<unknown>
  /** Selects a column of type `number` exactly, to the last bit: as a number or as decimal text. */
  numberOf(column: RawBuilder<unknown>): RawBuilder<unknown>
  /** CRC-32 of a body, as in zlib; NULL for NULL. */
  checksumOf(body: RawBuilder<unknown>): RawBuilder<number>
  /** Bounds how long the statement waits for a lock to one second, where the database has such a bound. */
  briefly(statement: RawBuilder<unknown>): RawBuilder<unknown>
  /** Name of the function that returns the greater of its arguments. */
  readonly greatest: string
  /** Makes an inner SELECT wait for a transaction that changes the row, and lock the row until the statement's commit. */
  readonly shareLock: RawBuilder<unknown>
  /** Makes a SELECT wait for a transaction that changes or locks a row, and lock the row against both until the transaction's end. */
  readonly exclusiveLock: RawBuilder<unknown>
  /** Types the parameter as an unsigned integer, for databases that choose a type before they see the value. */
  integer(parameter: RawBuilder<unknown>): RawBuilder<unknown>
  /** Fails the statement with `fence-refused` if the value is NULL, under any settings of the server. */
  required(value: RawBuilder<unknown>): RawBuilder<unknown>
  /** Fails a statement in every database session but the one that its connection has set up. */
  readonly ownSession: {
    /** Returns the value in that session, and an error in any other. `parameters` stand before those of the value. */
    only(value: RawBuilder<unknown>): RawBuilder<unknown>
    readonly parameters: readonly unknown[]
  }
  /** Text of an upsert between its rows and its assignments. */
  onDuplicate(key: readonly string[]): RawBuilder<unknown>
  /** In the assignments of an upsert: the value of the row that could not be inserted. */
  incoming(column: string): RawBuilder<unknown>
  /** True if the row count of a write leaves out rows that already had the values to write. */
  readonly countsChanges: boolean
  /**
   * The table after `UPDATE`, with a hint to find its rows by this key, and so to lock them in its order. Two statements that lock
   * rows in the same order cannot deadlock. Without the hint the plan for a small table is a scan, in another order.
   */
  updateSource(table: RawBuilder<unknown>, key: 'PRIMARY' | 'id'): RawBuilder<unknown>
  /**
   * A table of a SELECT, with the same hint. Without it MySQL reads all entities for a join where they are few, or where its statistics are
   * from a time when they were.
   */
  selectSource(table: RawBuilder<unknown>, key: 'PRIMARY' | 'id'): RawBuilder<unknown>
  /** The table after `DELETE`, with the same hint. */
  deleteSource(table: RawBuilder<unknown>, key: 'PRIMARY' | 'id'): RawBuilder<unknown>
  /** Creates the batched compare-and-swap of an entity table. */
  batchedSwap(table: SwapTable): BatchedSwap
  /**
   * Deletes rows whose stamp is below a version, if their entities have that version and a body. Locks the rows in the order of the parameters.
   * Parameters of each row: key, entity id, the version, and the CRC-32 of the body, `NO_BODY` for a tombstone.
   */
  removeOfWinners(tables: LosingTables, count: number): RawBuilder<unknown>
  /** True if a part of a UNION may have an `ORDER BY` and a `LIMIT`, in parentheses. */
  readonly orderedParts: boolean
  /** Largest number of parts of one UNION ALL. */
  readonly unionParts: number
  /** Largest number of parts of a UNION of scans that a connection keeps prepared: a power of two, or 0 for none. */
  readonly preparedParts: number
  /** True if the database seeks `(a, b) > (?, ?)` in an index. */
  readonly rowValuesSeek: boolean
  /** True if every commit that a reader can see survives a crash. */
  readonly visibleIsDurable: boolean
  /** Maps an error of the database client. `write` is true if the statement may have changed something. */
  faultOf(error: unknown, write: boolean): Fault
}

/** The entity table of a batched compare-and-swap, and the parts of its statements. */
export interface SwapTable {
  readonly shardName: string
  readonly session: Pick<Session, 'shape'>
  readonly table: string
  /** New value of `updated`. */
  readonly updated: RawBuilder<unknown>
  /** Condition that is true while the shard has the writer's epoch. `statements` gets its parameters. */
  readonly epochFence: RawBuilder<boolean>
}

/** An index table or a table of claims, and the table of its entities. */
export interface LosingTables {
  readonly table: string
  /** Columns of the key, with the entity id as the last one. */
  readonly key: readonly string[]
  readonly entityTable: string
}

/** Stands for the checksum of a tombstone. */
export const NO_BODY = -1

/** Returns the checksum of a body as `sumOf` computes it. */
export function sumOfBody(body: Uint8Array | null): number {
  return body === null ? NO_BODY : crc32(body)
}

/** The checksum of a stored body, `NO_BODY` for a tombstone. */
export function sumOf(
  { checksumOf }: Pick<Flavor, 'checksumOf'>,
  body: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`COALESCE(${checksumOf(body)}, ${sql.lit(NO_BODY)})`
}

export interface BatchedSwap {
  /** Returns the statements of a compare-and-swap of at least two rows, which are sorted by id. Several belong into one transaction. */
  statements(
    rows: readonly EntitySwap[],
    fenceParameters: readonly unknown[],
  ): readonly Pick<BoundStatement, 'query' | 'parameters'>[]
  /** Returns for each of these rows whether it was replaced, by the results of their statements. */
  won(rows: readonly EntitySwap[], results: readonly QueryResult<Row>[]): readonly boolean[]
}

/** Faults whose error code depends on the table: `duplicate` of a catalog is not that of an entity. */
export type TableFault = 'duplicate' | 'no-table' | 'fence-refused'

/** Returns the error code of a fault for which no table has a code. */
export function codeOf(kind: Fault['kind']): ErrorCode {
  return kind === 'duplicate' || kind === 'no-table' || kind === 'fence-refused' ? 'STATEMENT_FAILED' : kind
}

export interface Fault {
  readonly kind: TableFault | ErrorCode
  /** Describes the fault without values, statements or credentials. */
  readonly message: string
  readonly retryable?: boolean | undefined
  /** True if the database has undone the statement and it may be sent again; see `undone` of an error. */
  readonly undone?: boolean | undefined
  readonly unknownOutcome?: boolean | undefined
  /** Name of the missing table, where the database tells it. */
  readonly table?: string | undefined
  /** Error without values, statements or credentials. */
  readonly cause?: unknown
}
