import type { Driver, DriverFactory, Shard } from '@looseleaf/core'
import { wrapShard, type EntityTable, type IndexTable, type ShardParts } from '@looseleaf/core/internal'

/** Replacements of parts of a driver; omitted methods stay. */
export interface Changes {
  readonly entities?: ((table: EntityTable, shard: number) => Partial<EntityTable>) | undefined
  /** Called once per table. */
  readonly index?: ShardParts['index']
  readonly shard?: ((shard: Shard, number: number) => Partial<Shard>) | undefined
}

/** Returns a driver with replaced parts, for example without a guard, delayed, failing, or observed. */
export function changed(driver: Driver, changes: Changes): Driver {
  const shards = driver.shards.map((shard, number) => {
    const entities = changes.entities?.(shard.entities, number) ?? {}
    return wrapShard(shard, {
      entities: () => entities,
      index(table, spec) {
        const parts = changes.index?.(table, spec) ?? {}
        const many = { ...manyOf(parts), ...parts }
        return { ...joinedOf({ ...table, ...many }, shard.entities, many, entities), ...many }
      },
      shard: () => changes.shard?.(shard, number) ?? {},
    })
  })
  return { shards, close: () => driver.close() }
}

/** Applies a change of one scan or count to the batch methods too. */
function manyOf({ scan, count }: Partial<IndexTable>): Partial<IndexTable> {
  return {
    ...(scan && { scanMany: (scans, options) => Promise.all(scans.map((one) => scan(one, options))) }),
    ...(count && {
      countMany: (ranges, options) => Promise.all(ranges.map((one) => count(one, options))),
      countShort: (ranges, _, options) => Promise.all(ranges.map((one) => count(one, options))),
    }),
  }
}

/** Applies a change of scans, or of reads of entities, to scans with entities too, which are then no snapshot. */
function joinedOf(
  { scanMany }: IndexTable,
  original: EntityTable,
  parts: Partial<IndexTable>,
  entities: Partial<EntityTable>,
): Partial<IndexTable> {
  const { read, readBounded } = entities
  const isScanChanged = parts.scanMany !== undefined
  if (!isScanChanged && read === undefined && readBounded === undefined) return {}
  const find: EntityTable['readBounded'] = async (ids, maxBody, options) => {
    if (readBounded !== undefined) return readBounded(ids, maxBody, options)
    if (read === undefined) return original.readBounded(ids, maxBody, options)
    const rows = await read(ids, options)
    return rows.map((row) => row && { ...row, bodyBytes: row.body?.length ?? 0 })
  }
  return {
    async scanEntities(scans, options) {
      const pages = await scanMany(scans, options)
      return Promise.all(
        pages.map(async (rows, i) => {
          const found = await find(
            rows.map(({ entityId }) => entityId),
            scans[i]!.maxBody,
            options,
          )
          return rows.map((row, n) => ({ ...row, entity: found[n] }))
        }),
      )
    },
    ...(isScanChanged && {
      async scanVersions(scans, options) {
        const pages = await scanMany(scans, options)
        return Promise.all(
          pages.map(async (rows) => {
            const versions = await original.readVersions(
              rows.map(({ entityId }) => entityId),
              options,
            )
            return rows.map((row, n) => ({ ...row, entityVersion: versions[n] }))
          }),
        )
      },
    }),
  }
}

/** Changes each driver that a factory connects. */
export function through(shards: DriverFactory, change: (driver: Driver) => Driver): DriverFactory {
  return { shardCount: shards.shardCount, connect: async () => change(await shards.connect()) }
}
