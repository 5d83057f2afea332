import type { CallOptions, Shard } from '@looseleaf/core'
import { untilAborted, type ShardCatalog } from '@looseleaf/core/internal'
import { loadShardCatalog } from '@looseleaf/index-engine/internal'

export interface LateShardOptions {
  /** Throws if this is another shard. The catalog is undefined if the shard has none. */
  readonly check: (catalog: ShardCatalog | undefined) => void
  /** Called once, when the shard has answered and passed the check. */
  readonly onAnswer: () => void
}

/** Methods that ask the database nothing. */
const LOCAL: ReadonlySet<PropertyKey> = new Set(['index', 'claims', 'schema', 'connections'])

/**
 * Wraps a shard that did not answer when the store was opened. Checks its catalog before the first call is sent, and rejects calls until the
 * check passes: when the address works again, it may lead to another database.
 */
export function lateShard(shard: Shard, { check, onAnswer }: LateShardOptions): Shard {
  let isKnown = false
  let checking: Promise<void> | undefined
  const indexes = new Map<string, ReturnType<Shard['index']>>()
  const claims = new Map<string, ReturnType<Shard['claims']>>()

  async function ask(): Promise<void> {
    check(await loadShardCatalog(shard))
    isKnown = true
    onAnswer()
  }

  async function untilKnown(signal: AbortSignal | undefined): Promise<void> {
    checking ??= ask().finally(() => (checking = undefined))
    await untilAborted(checking, signal)
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
