import type { CallOptions, Shard } from '@looseleaf/core'
import { distinctIds } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '../shards.ts'
import { beforeAsking } from './before-asking.ts'
import { ownersAfter } from './catalog-after.ts'

/** Answers of a shard about ids. */
export interface AnswersAt {
  readonly shard: Shard
  readonly ids: readonly Uint8Array[]
  /** Tells whether the shard has owned the ids all the time up to now, so that its answers count. */
  areOwned(): Promise<boolean>
}

/**
 * Asks the owners of entities. `ask` sends statements to a shard, and calls `areOwned` after each, before it takes anything from the answer.
 * It returns the ids whose answers do not count, which are asked for again at their owner of then. A process whose catalog is old would
 * otherwise take the emptied table of an earlier owner for a store without these entities. Rejects with `SHARD_BUSY` if the owner has
 * changed too often.
 */
export async function readAtOwners(
  context: EngineContext,
  ids: Iterable<Uint8Array>,
  ask: (answers: AnswersAt) => Promise<readonly Uint8Array[]>,
  options: CallOptions = {},
): Promise<void> {
  let remaining: readonly Uint8Array[] = distinctIds(ids)
  for (let tries = 0; remaining.length > 0; tries++) {
    const catalog = await beforeAsking(context, remaining, tries, options)
    const { placement } = catalog
    const unserved = remaining.filter((id) => !placement.isServed(id))
    const served = remaining.filter((id) => placement.isServed(id))
    const groups = Map.groupBy(served, (id) => placement.shardOfId(id))
    const left = await Promise.all(
      Array.from(groups, ([number, group]) => {
        const shard = shardAt(context, number)
        return ask({
          shard,
          ids: group,
          areOwned: async () => (await ownersAfter(context, number, catalog, options)) === catalog,
        })
      }),
    )
    remaining = [...unserved, ...left.flat()]
  }
}
