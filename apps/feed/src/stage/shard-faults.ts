import type { IndexTableSpec } from '@looseleaf/core/internal'
import type { Driver, DriverFactory, LooseleafError, Shard } from 'looseleaf'

/** A call to a shard before it is made. */
export interface ShardCall {
  /** The shard's name. */
  readonly shard: string
  /** `entities`, `catalog`, `tasks`, `pending`, `codecEntries`, the name of an index table, or `shard` for methods of the shard itself. */
  readonly table: string
  /** The method of the port, such as `insert` or `remove`. */
  readonly operation: string
  readonly args: readonly unknown[]
}

/** Returns an error to reject the call, or undefined to let it pass. Must not throw. */
export type Refuse = (call: ShardCall) => LooseleafError | undefined

/** Shards whose calls can be rejected, for demonstrations. */
export interface ShardFaults {
  /** The shards for `DataStore.open`. */
  readonly shards: DriverFactory
  /** Functions that are called before every call to a shard. */
  readonly refusals: Set<Refuse>
}

/** Wraps shards so that their calls can be rejected. */
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

const TABLES: readonly string[] = ['entities', 'catalog', 'tasks', 'pending', 'codecEntries']
/** Methods that return a table without a statement. */
const OPENING: readonly string[] = ['index', 'claims']
/** Methods without a statement. */
const LOCAL: readonly string[] = ['schema', 'connections']

function breakable(shard: Shard, refusals: ReadonlySet<Refuse>): Shard {
  const known = new WeakMap<object, object>()

  /** Wraps a port. Returns the same wrapper for the same port. */
  const wrapped = (port: object, table: string): object => {
    const proxy = known.get(port) ?? new Proxy(port, { get: (target, name) => member(target, table, name) })
    known.set(port, proxy)
    return proxy
  }

  function member(target: object, table: string, name: PropertyKey): unknown {
    const value: unknown = Reflect.get(target, name, target)
    if (typeof name !== 'string') return value
    if (target === shard && TABLES.includes(name)) return wrapped(value as object, name)
    if (typeof value !== 'function' || LOCAL.includes(name)) return value
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
