import type { Driver, DriverFactory, IndexTableSpec, LooseleafError, Shard } from '@looseleaf/core'

/** A call to a shard that is about to be made. */
export interface ShardCall {
  /** The shard's name. */
  readonly shard: string
  /** `entities`, `tasks` and the like, the name of the table of an index, or `shard` for what the shard does itself. */
  readonly table: string
  /** The method of the port, such as `insert` or `remove`. */
  readonly operation: string
  readonly args: readonly unknown[]
}

/** What a call fails with instead of being made; undefined lets it pass. May not throw. */
export type Refuse = (call: ShardCall) => LooseleafError | undefined

/** Shards whose calls can be refused, for a demonstration. */
export interface ShardFaults {
  /** What the store is opened with. */
  readonly shards: DriverFactory
  /** Each is asked before every call. */
  readonly refusals: Set<Refuse>
}

/** Makes shards breakable: hand `shards` of the answer to `DataStore.open`, and the answer to `createConsole`. */
export function createShardFaults(shards: DriverFactory): ShardFaults {
  const refusals = new Set<Refuse>()
  return {
    refusals,
    shards: {
      shardCount: shards.shardCount,
      async connect(options): Promise<Driver> {
        const driver = await shards.connect(options)
        return {
          shards: driver.shards.map((shard) => breakable(shard, refusals)),
          close: () => driver.close(),
        }
      },
    },
  }
}

const TABLES: readonly string[] = ['entities', 'catalog', 'tasks', 'pending', 'definitions']
/** What gives a table without asking the database. */
const OPENING: readonly string[] = ['index', 'claims']
/** What asks nobody. */
const SILENT: readonly string[] = ['schema', 'connections']

function breakable(shard: Shard, refusals: ReadonlySet<Refuse>): Shard {
  const known = new WeakMap<object, object>()

  /** The same for the same port. */
  const wrapped = (port: object, table: string): object => {
    const own = known.get(port) ?? new Proxy(port, { get: (target, name) => member(target, table, name) })
    known.set(port, own)
    return own
  }

  function member(target: object, table: string, name: PropertyKey): unknown {
    const value: unknown = Reflect.get(target, name, target)
    if (typeof name !== 'string') return value
    if (target === shard && TABLES.includes(name)) return wrapped(value as object, name)
    if (typeof value !== 'function' || SILENT.includes(name)) return value
    if (OPENING.includes(name))
      return (spec: IndexTableSpec) => wrapped(Reflect.apply(value, target, [spec]) as object, spec.table)
    return async (...args: unknown[]) => {
      for (const refuse of refusals) {
        const refusal = refuse({ shard: shard.name, table, operation: name, args })
        if (refusal !== undefined) throw refusal
      }
      return Reflect.apply(value, target, args) as unknown
    }
  }

  return wrapped(shard, 'shard') as Shard
}
