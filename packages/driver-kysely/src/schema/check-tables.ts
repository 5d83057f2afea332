import { isLooseleafError, LooseleafError, type CallOptions } from '@looseleaf/core'
import { shorten, type ForeignTable, type IndexTableSpec, type TableCheck } from '@looseleaf/core/internal'
import type { Kysely } from 'kysely'
import type { Flavor } from '../database/flavor.ts'
import { toText } from '../database/row-values.ts'
import { callsWith, type Session } from '../database/session.ts'
import { indexTable, shardTables, type TableShape } from './schema.ts'

const { reading, writing } = callsWith({ 'no-table': ['NOT_MIGRATED', 'a table is missing.'] })

/** A table that never exists: names of tables that are not of indexes have this prefix. */
const NO_TABLE = 'looseleaf_no_table'

/** Characters of a list of columns in a message. */
const MAX_LIST = 400

export interface TableChecks {
  checkTables(indexes: readonly IndexTableSpec[], options?: CallOptions): Promise<TableCheck>
  tryCreateTable(options?: CallOptions): Promise<void>
  /** Throws `BAD_INDEX` if the table of an index would be the entity table. */
  requireFreeName(spec: IndexTableSpec): void
  /**
   * Throws `BAD_INDEX` if an index table has other columns than its definition. `IF NOT EXISTS` compares names only, so an earlier
   * attempt with another definition may have left such a table, and it would convert the values of this index to its types.
   */
  requireIndexTable(spec: IndexTableSpec, options?: CallOptions): Promise<void>
}

interface TableChecksOptions {
  readonly shardName: string
  readonly session: Session
  readonly flavor: Flavor
  readonly db: Kysely<unknown>
  readonly entityTable: string
}

interface FoundColumn {
  readonly name: string
  readonly type: string
  readonly inKey: boolean
}

/** Compares the tables of a database with those of a shard. */
export function createTableChecks({
  shardName,
  session,
  flavor,
  db,
  entityTable,
}: TableChecksOptions): TableChecks {
  /** Reads the columns of a table; none if it is missing. */
  async function columnsOf(table: string, options: CallOptions | undefined): Promise<readonly FoundColumn[]> {
    const statement = flavor.columnsOf.statement(table).compile(db)
    const { rows } = await session.run(statement, [], reading(options)).catch((error: unknown) => {
      if (isLooseleafError(error, 'NOT_MIGRATED')) return { rows: [] }
      throw error
    })
    return rows.map((row) => {
      const { name, type, inKey } = flavor.columnsOf.read(row)
      return { name: toText(name), type: toText(type).toUpperCase(), inKey }
    })
  }

  return {
    async checkTables(indexes, options) {
      const missing: string[] = []
      const foreign: ForeignTable[] = []
      // Statements name the columns of a shard's tables, so that a table with further columns serves as well.
      const shapes = [
        ...shardTables(entityTable, flavor).map((shape) => ({ shape, takesOthers: true })),
        ...indexes.map((spec) => ({ shape: indexTable(spec, flavor), takesOthers: false })),
      ]
      for (const { shape, takesOthers } of shapes) {
        const found = await columnsOf(shape.name, options)
        if (found.length === 0) missing.push(shape.name)
        else if (!fits(found, shape, takesOthers)) foreign.push(foreignTable(found, shape))
      }
      return { missing, foreign }
    },

    async tryCreateTable(options) {
      const statement = flavor.createLikeMissing(NO_TABLE).compile(db)
      try {
        await session.run(statement, [], writing(options))
      } catch (error) {
        if (isLooseleafError(error, 'NOT_MIGRATED')) return
        if (!isLooseleafError(error, 'SHARD_DENIED')) throw error
        throw new LooseleafError(
          'SHARD_DENIED',
          `${shardName}: the user lacks the privilege CREATE on the whole database.`,
          { shard: shardName, cause: error },
        )
      }
    },

    requireFreeName({ table }) {
      // Some servers ignore the case of names.
      if (table !== entityTable.toLowerCase()) return
      throw new LooseleafError(
        'BAD_INDEX',
        `${shardName}: the index needs the table ${table}, which has the entities of this store (entityTable). Give the index another name.`,
        { shard: shardName },
      )
    },

    async requireIndexTable(spec, options) {
      const shape = indexTable(spec, flavor)
      const existing = await columnsOf(spec.table, options)
      if (fits(existing, shape, false)) return
      const { found, expected } = foreignTable(existing, shape)
      throw new LooseleafError(
        'BAD_INDEX',
        `${shardName}: the table ${spec.table} exists with other columns or another key than the index needs: it has ${found}; the index needs ${expected}. An earlier attempt to create an index of this name with another definition left it, or it belongs to another program. Drop or rename the table if nothing uses it, and try again.`,
        { shard: shardName },
      )
    },
  }
}

function fits(found: readonly FoundColumn[], { columns, key }: TableShape, takesOthers: boolean): boolean {
  return (
    (takesOthers || found.length === columns.length) &&
    found.every(({ name, inKey }) => inKey === key.includes(name)) &&
    columns.every(([column, type]) =>
      found.some((each) => each.name === column && holds(each.type, typeOf(type))),
    )
  )
}

/** A long type of MySQL holds every value of the medium one, and no statement depends on the limit. */
function holds(found: string, expected: string): boolean {
  return found === expected || found === expected.replace(/^MEDIUM(?=BLOB$|TEXT$)/, 'LONG')
}

/** Returns the words of a type alone, as databases tell them. */
function typeOf(definition: string): string {
  return definition.replace(/ (?:AUTO_INCREMENT|CHARACTER SET|DEFAULT|NOT NULL|PRIMARY KEY)\b.*$/, '')
}

function foreignTable(found: readonly FoundColumn[], { name, columns, key }: TableShape): ForeignTable {
  return {
    name,
    found: listed(found),
    expected: listed(
      columns.map(([column, type]) => ({ name: column, type: typeOf(type), inKey: key.includes(column) })),
    ),
  }
}

function listed(columns: readonly FoundColumn[]): string {
  const texts = columns.map(({ name, type, inKey }) => `${name} ${type}${inKey ? ' (key)' : ''}`)
  return shorten(texts.join(', '), MAX_LIST)
}
