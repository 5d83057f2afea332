import type { ColumnType, EntityReplace, ErrorCode } from '@looseleaf/core'
import type { RawBuilder } from 'kysely'
import type { Call, Session } from './session.ts'

/** What differs between databases, as data. Everything else is written once, in the files beside this one. */
export interface Flavor {
  /** Column types, with everything that follows the column's name in `CREATE TABLE` except `NOT NULL`. */
  readonly types: {
    /** Numbers rows by themselves and is the primary key. */
    readonly addedId: string
    readonly id: string
    /** The time of a write in the form that `now` gives. */
    readonly updated: string
    /** As `updated`, with NOT NULL and the year 1970 by default. */
    readonly floor: string
    /** Unsigned integers up to 2^53. */
    readonly integer: string
    readonly body: string
    /** Unicode text of up to 16 MiB. */
    readonly text: string
    /** Names of up to 255 bytes that are compared byte by byte. */
    readonly name: string
    readonly columns: Readonly<Record<ColumnType, string>>
  }
  /**
   * A statement that shows the columns of a table, and of a row that it gives the name, the type, as in `types`, and whether
   * the primary key has it.
   */
  readonly columnsOf: {
    statement(table: string): RawBuilder<unknown>
    read(row: Readonly<Record<string, unknown>>): {
      readonly name: unknown
      readonly type: unknown
      readonly inKey: boolean
    }
  }
  /**
   * A statement that shows what the statistics say of the tables: `name`, `estimate` of rows and `bytes`, each NULL where it is
   * not known; the row without a name is of the whole database, where it is not the sum of the others.
   */
  sizes(entityTable: string): RawBuilder<unknown>
  /** What follows the closing parenthesis of a table with a number for its key, and of one without. */
  readonly tableOptions: { readonly numbered: string; readonly keyed: string }
  /** True where secondary keys are a part of `CREATE TABLE`, false where they are statements of their own. */
  readonly inlineKeys: boolean
  /** The current time as the column `updated` keeps it. */
  readonly now: RawBuilder<unknown>
  /** The current time in µs since 1970. */
  readonly nowMicros: RawBuilder<number>
  /** The first time after this one that the column `updated` tells from it. */
  next(updated: RawBuilder<unknown>): RawBuilder<unknown>
  /** A value of `updated` in µs since 1970. */
  microsOf(updated: RawBuilder<unknown>): RawBuilder<number>
  /** A number of µs since 1970 as the column `updated` keeps it. */
  updatedOf(micros: RawBuilder<unknown>): RawBuilder<unknown>
  /** A column of type `number` as a SELECT gives it, exact to the last bit: as a number or as decimal text. */
  numberOf(column: RawBuilder<unknown>): RawBuilder<unknown>
  /** A statement that waits no longer than a second for what others have locked, where the database can be told so. */
  briefly(statement: RawBuilder<unknown>): RawBuilder<unknown>
  /** The function that gives the greater of its arguments. */
  readonly greatest: string
  /** Makes an inner SELECT wait for whoever is changing the row, and hold it until the statement is through. */
  readonly shareLock: RawBuilder<unknown>
  /** A parameter that is an unsigned integer, said where the database cannot tell by itself before it sees the value. */
  integer(parameter: RawBuilder<unknown>): RawBuilder<unknown>
  /** A value for a column that is NOT NULL: where it is NULL, the statement fails as `fence-refused`, whatever is set. */
  required(value: RawBuilder<unknown>): RawBuilder<unknown>
  /** What ends a statement with an error in any database session but the one that its connection has set up. */
  readonly ownSession: {
    /** The value, in that session. Takes `parameters`, before those of the value. */
    only(value: RawBuilder<unknown>): RawBuilder<unknown>
    readonly parameters: readonly unknown[]
  }
  /** What an upsert says after its rows, up to the assignments. */
  onDuplicate(key: readonly string[]): RawBuilder<unknown>
  /** In an upsert's assignments: the value that was to be inserted. */
  incoming(column: string): RawBuilder<unknown>
  /** True where the number of rows of a write leaves out those that it found just as it would have made them. */
  readonly countsChanges: boolean
  /**
   * The part behind UPDATE: the table, whose rows are found, and so locked, in the order of this key. Two statements that lock the
   * same rows in one order do not lock each other out, and the plan for a small table is a scan if nothing forbids it.
   */
  updateSource(table: RawBuilder<unknown>, key: 'PRIMARY' | 'id'): RawBuilder<unknown>
  /** The part behind DELETE: the table, whose rows are found by this key as in `updateSource`. */
  deleteSource(table: RawBuilder<unknown>, key: 'PRIMARY' | 'id'): RawBuilder<unknown>
  /** Compare-and-swaps of several rows of an entity table, which differ most between databases. */
  batchedSwap(table: SwapTable): BatchedSwap
  /** True where a part of a UNION may have an order and a limit of its own, in parentheses. */
  readonly orderedParts: boolean
  /** Parts of one UNION ALL at the most. */
  readonly unionParts: number
  /** Those of scans that a connection keeps prepared, at the most: a power of two; 0 where it gains nothing by that. */
  readonly preparedParts: number
  /** True where `(a, b) > (?, ?)` finds its place in an index. */
  readonly rowValuesSeek: boolean
  /** True where nobody reads a commit that a crash could still undo. */
  readonly visibleIsDurable: boolean
  /** What an error of the database client means. `write` tells whether the statement could have changed anything. */
  faultOf(error: unknown, write: boolean): Fault
}

/** The entity table of a batched compare-and-swap, and what its statements are made of. */
export interface SwapTable {
  readonly shardName: string
  /** Outside a transaction. */
  readonly session: Session
  readonly table: string
  /** What `updated` is set to. */
  readonly updated: RawBuilder<unknown>
  /** True while the writer's epoch is the shard's. It has parameters. */
  readonly fence: RawBuilder<boolean>
  /** The versions of these entities, in the order of their ids. */
  readVersions(
    ids: readonly Uint8Array[],
    call: Call,
    through: Session,
  ): Promise<readonly (number | undefined)[]>
}

export interface BatchedSwap {
  /**
   * Sends one compare-and-swap of two rows or more, in the order of their ids, and says which of them it changed. `through`:
   * the transaction that it is part of, or `session` of its table.
   */
  send(
    rows: readonly EntityReplace[],
    fenceParameters: readonly unknown[],
    call: Call,
    through: Session,
  ): Promise<readonly boolean[]>
}

/** Faults that mean one thing to an entity table and another to an index table. */
export type TableFault = 'duplicate' | 'no-table' | 'fence-refused'

export interface Fault {
  readonly kind: TableFault | ErrorCode
  /** What happened, without values, statements or credentials. */
  readonly message: string
  readonly retryable?: boolean | undefined
  /** See `undone` of an error. */
  readonly undone?: boolean | undefined
  readonly unknownOutcome?: boolean | undefined
  /** The table that is missing, where the database names it. */
  readonly table?: string | undefined
  /** An error that is safe to show. */
  readonly cause?: unknown
}
