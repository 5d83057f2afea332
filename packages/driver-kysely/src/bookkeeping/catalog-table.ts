import { LooseleafError, isLooseleafError } from '@looseleaf/core'
import { parseObject, type CatalogTable, type ShardCatalog } from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from '../database/flavor.ts'
import { toCount, toNumber, toText } from '../database/row-values.ts'
import { catalogFlaw } from './catalog-flaw.ts'
import { META_TABLE } from '../database/table-names.ts'
import { callsWith, type Session } from '../database/session.ts'
import { and, parameter } from '../database/sql-parts.ts'
import { FLOOR_COLUMN } from '../schema/schema.ts'

const meta = sql.table(META_TABLE)

const load = sql`SELECT epoch, catalog FROM ${meta} WHERE id = 1`
const init = sql`INSERT INTO ${meta} (id, epoch, catalog) VALUES (1, ${parameter}, ${parameter})`
/**
 * Waits for the commit of every write that holds the row in share mode; see the insert of an entity table. Parameters: the new epoch, the
 * catalog, the present epoch.
 */
const change = sql`UPDATE ${meta} SET epoch = ${parameter}, catalog = ${parameter} WHERE id = 1 AND epoch = ${parameter}`

const { reading, writing } = callsWith({
  duplicate: ['ALREADY_EXISTS', 'the shard already has a catalog.'],
  'no-table': ['NOT_MIGRATED', 'the catalog table is missing; create the tables first.'],
})

/**
 * `change` for a shard that has a floor and so many copies. Parameters: those of `change`, the floor, those of `ownSession`; then id and time
 * of each copy.
 */
function changeHolding(entityTable: string, flavor: Flavor, copies: number): RawBuilder<unknown> {
  const time = flavor.updatedOf(parameter)
  const isThere = sql`EXISTS (SELECT 1 FROM ${sql.table(entityTable)} WHERE id = ${parameter} AND updated >= ${time})`
  const conditions = [
    sql`${sql.ref(FLOOR_COLUMN)} >= ${time}`,
    flavor.ownSession.only(sql`1`),
    ...Array.from({ length: copies }, () => isThere),
  ]
  return sql`${change} AND ${and(conditions)}`
}

interface CatalogTableOptions {
  readonly shardName: string
  readonly session: Session
  readonly flavor: Flavor
  readonly entityTable: string
}

export function createCatalogTable({
  shardName,
  session,
  flavor,
  entityTable,
}: CatalogTableOptions): CatalogTable {
  return {
    async load(options) {
      const shape = session.shape('catalog load', () => load)
      const { rows } = await session.run(shape, [], reading(options)).catch((error: unknown) => {
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
          writing(options),
        )
        return true
      } catch (error) {
        if (isLooseleafError(error, 'ALREADY_EXISTS')) return false
        throw error
      }
    },

    async change(catalog, from, options) {
      const { holding } = options ?? {}
      const parameters: unknown[] = [catalog.epoch, formatCatalog(catalog), from]
      let query = session.shape('catalog change', () => change)
      if (holding !== undefined) {
        const { floor, copies } = holding
        query = session.shape(`catalog change ${copies.length}`, () =>
          changeHolding(entityTable, flavor, copies.length),
        )
        parameters.push(floor, ...flavor.ownSession.parameters)
        for (const { id, updated } of copies) parameters.push(id, updated)
      }
      const result = await session.run(query, parameters, writing(options))
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
  const flaw =
    catalog === undefined || Array.isArray(catalog) ? 'it is not a JSON object' : catalogFlaw(catalog)
  if (flaw === undefined)
    return { ...(catalog as unknown as Omit<ShardCatalog, 'epoch'>), epoch: toNumber(epoch) }
  throw new LooseleafError(
    'CATALOG_DAMAGED',
    `${shardName}: the catalog in ${META_TABLE} cannot be read: ${flaw}. Nothing was written. ` +
      `Put the text of its column catalog back from a backup. A store without moves may take that of another shard, with this shard's shardNumber.`,
    { shard: shardName },
  )
}
