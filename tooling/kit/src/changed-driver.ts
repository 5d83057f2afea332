import type { Driver, DriverFactory, Shard } from '@looseleaf/core'
import type { EntityTable, IndexTable, IndexTableSpec } from '@looseleaf/core/internal'

/** Replacements of parts of a driver; omitted methods stay. */
export interface Changes {
  readonly entities?: ((table: EntityTable, shard: number) => Partial<EntityTable>) | undefined
  /** Called once per table. */
  readonly index?: ((table: IndexTable, spec: IndexTableSpec) => Partial<IndexTable>) | undefined
  readonly shard?: ((shard: Shard, number: number) => Partial<Shard>) | undefined
}

/** Returns a driver with replaced parts, for example without a guard, delayed, failing, or observed. */
export function changed(driver: Driver, changes: Changes): Driver {
  const shards = driver.shards.map((shard, number): Shard => {
    const tables = new Map<string, IndexTable>()
    return {
      ...whole(shard),
      entities: { ...whole(shard.entities), ...changes.entities?.(shard.entities, number) },
      index(spec) {
        let table = tables.get(spec.table)
        if (table === undefined) {
          const real = shard.index(spec)
          const parts = changes.index?.(real, spec) ?? {}
          table = { ...whole(real), ...manyOf(parts), ...parts }
          tables.set(spec.table, table)
        }
        return table
      },
      ...changes.shard?.(shard, number),
    }
  })
  return { shards, close: () => driver.close() }
}

/** Applies a change of one scan or count to the batch methods too. */
function manyOf({ scan, count }: Partial<IndexTable>): Partial<IndexTable> {
  return {
    ...(scan && { scanMany: (scans, options) => Promise.all(scans.map((one) => scan(one, options))) }),
    ...(count && { countMany: (ranges, options) => Promise.all(ranges.map((one) => count(one, options))) }),
  }
}

/** Changes each driver that a factory connects. */
export function through(shards: DriverFactory, change: (driver: Driver) => Driver): DriverFactory {
  return { shardCount: shards.shardCount, connect: async () => change(await shards.connect()) }
}

/** Returns a copy with own and inherited methods, so that it can be spread. */
function whole<T extends object>(object: T): T {
  const copy: Record<string, unknown> = {}
  for (let level: object | null = object; level !== null && level !== Object.prototype;) {
    for (const name of Object.getOwnPropertyNames(level)) {
      const value: unknown = Reflect.get(object, name)
      copy[name] ??= typeof value === 'function' ? value.bind(object) : value
    }
    level = Object.getPrototypeOf(level) as object | null
  }
  return copy as T
}
