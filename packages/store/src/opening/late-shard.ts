import { untilAborted, type CallOptions, type Shard, type ShardCatalog } from '@looseleaf/core'
import { loadShardCatalog } from '@looseleaf/index-engine'

export interface LateShardOptions {
  /** Throws when the shard is not the one that it should be; undefined when it has no catalog. */
  readonly check: (catalog: ShardCatalog | undefined) => void
  /** Called once, when it has answered and is the right one. */
  readonly onAnswer: () => void
}

/** What asks the database nothing. */
const LOCAL: ReadonlySet<PropertyKey> = new Set(['index', 'claims', 'schema', 'connections'])

/**
 * A shard that did not answer when the store was opened. An address may lead anywhere when it leads somewhere again, so
 * before the first call is sent, and none is while this fails, the shard has to say that it is the one that was meant.
 */
export function lateShard(shard: Shard, { check, onAnswer }: LateShardOptions): Shard {
  let isKnown = false
  let asking: Promise<void> | undefined
  const indexes = new Map<string, ReturnType<Shard['index']>>()
  const claims = new Map<string, ReturnType<Shard['claims']>>()

  async function ask(): Promise<void> {
    check(await loadShardCatalog(shard))
    isKnown = true
    onAnswer()
  }

  async function untilKnown(signal: AbortSignal | undefined): Promise<void> {
    asking ??= ask().finally(() => (asking = undefined))
    await untilAborted(asking, signal)
  }

  function guard<Port extends object>(port: Port, tables: Partial<Port> = {}): Port {
    return new Proxy(port, {
      get(target, property) {
        const value: unknown = Reflect.get(property in tables ? tables : target, property)
        if (typeof value !== 'function' || LOCAL.has(property)) return value
        return async (...args: readonly unknown[]) => {
          // Every method of the ports takes its options last.
          if (!isKnown) await untilKnown((args.at(-1) as CallOptions | undefined)?.signal)
          return Reflect.apply(value, target, args) as Promise<unknown>
        }
      },
    })
  }

  return guard(shard, {
    entities: guard(shard.entities),
    catalog: guard(shard.catalog),
    tasks: guard(shard.tasks),
    pending: guard(shard.pending),
    definitions: guard(shard.definitions),
    index(spec) {
      const table = indexes.get(spec.table) ?? guard(shard.index(spec))
      indexes.set(spec.table, table)
      return table
    },
    claims(spec) {
      const table = claims.get(spec.table) ?? guard(shard.claims(spec))
      claims.set(spec.table, table)
      return table
    },
  })
}
