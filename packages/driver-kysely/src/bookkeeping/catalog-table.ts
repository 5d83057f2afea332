import { LooseleafError, isLooseleafError, type CallOptions } from '@looseleaf/core'
import { parseObject, toObject, type CatalogTable, type ShardCatalog } from '@looseleaf/core/internal'
import { sql } from 'kysely'
import { toCount, toNumber, toText } from '../database/row-values.ts'
import { META_TABLE } from '../database/table-names.ts'
import type { Call, FaultCodes, Session } from '../database/session.ts'
import { parameter } from '../database/sql-parts.ts'

const meta = sql.table(META_TABLE)

const load = sql`SELECT epoch, catalog FROM ${meta} WHERE id = 1`
const init = sql`INSERT INTO ${meta} (id, epoch, catalog) VALUES (1, ${parameter}, ${parameter})`
/** Waits for the commit of every write that holds the row in share mode; see the insert of an entity table. */
const change = sql`UPDATE ${meta} SET epoch = ${parameter}, catalog = ${parameter} WHERE id = 1 AND epoch = ${parameter}`

const faults: FaultCodes = {
  duplicate: ['ALREADY_EXISTS', 'the shard already has a catalog.'],
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
      const shape = session.shape('catalog load', () => load)
      const { rows } = await session.run(shape, [], callOf(options, false)).catch((error: unknown) => {
        if (isLooseleafError(error, 'NOT_MIGRATED')) return { rows: [] }
        throw error
      })
      return rows[0] && parseCatalog(shardName, rows[0].epoch, rows[0].catalog)
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

/** Leaves out the epoch, which has its own column because statements compare it. */
function formatCatalog({ epoch: _, ...catalog }: ShardCatalog): string {
  return JSON.stringify(catalog)
}

function parseCatalog(shardName: string, epoch: unknown, text: unknown): ShardCatalog {
  const catalog = parseObject(toText(text))
  const flaw = catalog === undefined || Array.isArray(catalog) ? 'it is not a JSON object' : flawOf(catalog)
  if (flaw === undefined)
    return { ...(catalog as unknown as Omit<ShardCatalog, 'epoch'>), epoch: toNumber(epoch) }
  throw new LooseleafError(
    'CATALOG_DAMAGED',
    `${shardName}: the catalog in ${META_TABLE} cannot be read: ${flaw}. Nothing was written. ` +
      `Put the text of its column catalog back from a backup, or take that of another shard and set shardNumber to this shard's number.`,
    { shard: shardName },
  )
}

/** Fields that every version has written since the first. A catalog of another format is checked by the reader of the catalog. */
const FIELDS: Readonly<Record<string, string>> = {
  storeId: 'string',
  shardNumber: 'number',
  shardCount: 'number',
  router: 'string',
}

function flawOf(catalog: Readonly<Record<string, unknown>>): string | undefined {
  if ((catalog['format'] ?? 1) !== 1) return undefined
  const wrong = Object.keys(FIELDS).find((name) => typeof catalog[name] !== FIELDS[name])
  if (wrong !== undefined) return `it has no ${wrong}`
  const { indexes, layout } = catalog
  if (layout !== undefined && !isLayout(layout)) return 'its layout is no list of shards'
  if (!Array.isArray(indexes)) return 'it has no indexes'
  return indexes.every(isEntry) ? undefined : 'an entry of indexes is not an index'
}

function isLayout(layout: unknown): boolean {
  const { revision, scheme = '', shards } = toObject(layout) ?? {}
  const hasHead = typeof revision === 'number' && typeof scheme === 'string'
  return hasHead && Array.isArray(shards) && shards.every(isLayoutShard)
}

function isLayoutShard(shard: unknown): boolean {
  const { name, buckets = '' } = toObject(shard) ?? {}
  return typeof name === 'string' && typeof buckets === 'string'
}

function isEntry(entry: unknown): boolean {
  const { name, table, state, generation, properties } = toObject(entry) ?? {}
  const isNamed = [name, table, state].every((value) => typeof value === 'string')
  return isNamed && typeof generation === 'number' && Array.isArray(properties) && properties.every(toObject)
}
