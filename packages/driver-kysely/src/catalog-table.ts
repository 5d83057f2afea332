import {
  LooseleafError,
  isLooseleafError,
  type CallOptions,
  type CatalogTable,
  type ShardCatalog,
} from '@looseleaf/core'
import { sql } from 'kysely'
import { toCount, toNumber, toText } from './row-values.ts'
import { META_TABLE } from './schema.ts'
import type { Call, FaultCodes, Session } from './session.ts'
import { slot } from './sql-parts.ts'

const meta = sql.table(META_TABLE)

const load = sql`SELECT epoch, catalog FROM ${meta} WHERE id = 1`
const init = sql`INSERT INTO ${meta} (id, epoch, catalog) VALUES (1, ${slot}, ${slot})`
/** Waits for every write that holds the row in share mode; see the insert of an entity table. */
const change = sql`UPDATE ${meta} SET epoch = ${slot}, catalog = ${slot} WHERE id = 1 AND epoch = ${slot}`

const faults: FaultCodes = {
  duplicate: ['ALREADY_EXISTS', 'the shard has a catalog already.'],
  'no-table': ['NOT_MIGRATED', 'the catalog table is missing; create the tables first.'],
}

export function createCatalogTable(shardName: string, session: Session): CatalogTable {
  const callOf = (options: CallOptions | undefined, write: boolean): Call => ({
    write,
    signal: options?.signal,
    faults,
  })

  return {
    async load(options) {
      try {
        const { rows } = await session.run(
          session.shape('catalog load', () => load),
          [],
          callOf(options, false),
        )
        const row = rows[0]
        return row === undefined
          ? undefined
          : parseCatalog(shardName, toNumber(row.epoch), toText(row.catalog))
      } catch (error) {
        if (isLooseleafError(error, 'NOT_MIGRATED')) return undefined
        throw error
      }
    },

    async init(catalog, options) {
      try {
        await session.run(
          session.shape('catalog init', () => init),
          [catalog.epoch, formatCatalog(catalog)],
          callOf(options, true),
        )
        return true
      } catch (error) {
        if (isLooseleafError(error, 'ALREADY_EXISTS')) return false
        throw error
      }
    },

    async change(catalog, from, options) {
      const result = await session.run(
        session.shape('catalog change', () => change),
        [catalog.epoch, formatCatalog(catalog), from],
        callOf(options, true),
      )
      return toCount(result.numAffectedRows) === 1
    },
  }
}

/** The epoch has a column of its own, because statements compare it. */
function formatCatalog({ epoch: _, ...catalog }: ShardCatalog): string {
  return JSON.stringify(catalog)
}

function parseCatalog(shardName: string, epoch: number, text: string): ShardCatalog {
  try {
    return { ...(JSON.parse(text) as Omit<ShardCatalog, 'epoch'>), epoch }
  } catch (cause) {
    throw new LooseleafError(
      'NOT_MIGRATED',
      `${shardName}: the catalog in ${META_TABLE} is not JSON; was it edited by hand?`,
      { shard: shardName, cause },
    )
  }
}
