import type { Shard } from '@looseleaf/core'
import { createReferenceShard, type ShardState } from './reference-driver.ts'

/** A shard with an earlier state of another one. */
export interface ReferenceReplica extends Shard {
  /** Shows this state from now on. Before the first call the replica is empty. */
  show(state: ShardState): void
  /** Returns the state that it shows. */
  state(): ShardState
}

export function createReferenceReplica(name: string, now: () => number): ReferenceReplica {
  const shard = createReferenceShard(name, now)
  const known = new Set<string>()
  let shown: ShardState | undefined

  return {
    ...shard,
    index(spec) {
      const table = shard.index(spec)
      if (!known.has(spec.table)) {
        known.add(spec.table)
        table.restore(shown?.indexes.get(spec.table))
      }
      return table
    },
    state: () => shown ?? shard.state(),
    show(state) {
      shown = state
      shard.fallBack(state, 'everything')
    },
  }
}
