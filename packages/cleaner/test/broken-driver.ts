import { LooseleafError, type Driver, type IndexTable, type Shard } from '@looseleaf/core'

export interface DyingDriver {
  readonly driver: Driver
  /** The n-th call from now on is the last one. */
  dieAfter(calls: number): void
  /** True once that call was made. */
  readonly isDead: boolean
}

/**
 * The connections of a process that dies: from its last call on all fail. The last one takes effect, or does not.
 * Nobody is told that the process is gone: its leases stay.
 */
export function dyingDriver(driver: Driver, { withEffect }: { readonly withEffect: boolean }): DyingDriver {
  let left = Infinity
  const intercept = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get(object, name) {
        const value: unknown = Reflect.get(object, name)
        if (typeof value !== 'function') return value
        return async (...parameters: unknown[]): Promise<unknown> => {
          left--
          if (left > 0) return value.apply(object, parameters)
          if (left === 0 && withEffect) await value.apply(object, parameters)
          throw new LooseleafError('CLOSED', 'The process has died.')
        }
      },
    })
  return {
    get isDead() {
      return left <= 0
    },
    dieAfter(calls) {
      left = calls
    },
    driver: { ...driver, shards: driver.shards.map((shard) => wrapShard(shard, intercept)) },
  }
}

/** Calls something before each call of a port's method. */
export function watchedDriver(
  driver: Driver,
  before: (shard: number, method: string) => Promise<void>,
): Driver {
  return {
    ...driver,
    shards: driver.shards.map((shard, number) =>
      wrapShard(
        shard,
        <Port extends object>(port: Port): Port =>
          new Proxy(port, {
            get(object, name) {
              const value: unknown = Reflect.get(object, name)
              if (typeof value !== 'function') return value
              return async (...parameters: unknown[]): Promise<unknown> => {
                await before(number, String(name))
                return value.apply(object, parameters)
              }
            },
          }),
      ),
    ),
  }
}

function wrapShard(shard: Shard, intercept: <Port extends object>(port: Port) => Port): Shard {
  const tables = new Map<string, IndexTable>()
  return {
    name: shard.name,
    entities: intercept(shard.entities),
    catalog: intercept(shard.catalog),
    tasks: intercept(shard.tasks),
    pending: intercept(shard.pending),
    index(spec) {
      const table = tables.get(spec.table) ?? intercept(shard.index(spec))
      tables.set(spec.table, table)
      return table
    },
    createTables: (options) => shard.createTables(options),
    createIndexTable: (spec, options) => shard.createIndexTable(spec, options),
    dropIndexTable: (spec, options) => shard.dropIndexTable(spec, options),
    schema: (indexes) => shard.schema(indexes),
    now: (options) => shard.now(options),
    warnings: (options) => shard.warnings(options),
  }
}
