import { withCallbacks } from '@looseleaf/core/internal'
import { presentNumbers } from '@looseleaf/index-engine/internal'
import { checkStore, type AnyStore } from '@looseleaf/protocol/internal'
import pLimit from 'p-limit'
import { passOptionKinds, type PassOptions } from '../pass/pass-options.ts'
import { createPass } from '../pass/pass.ts'
import { expireShard } from './expire-shard.ts'

const SHARDS_AT_ONCE = 4

/**
 * Deletes all entities that expired at least a minute ago. Returns the number that this call deleted. A running cleaner, `cleanIndex` or
 * `sweep` deletes their index rows later.
 */
export async function deleteExpired(store: AnyStore, options: PassOptions = {}): Promise<number> {
  checkStore('deleteExpired', store, options, passOptionKinds)
  const { context } = store
  return withCallbacks(options, async (taken) => {
    const pass = createPass(context, taken)
    const perShard = await pLimit(SHARDS_AT_ONCE).map(presentNumbers(context.driver), (shard) =>
      expireShard(pass, shard, Infinity),
    )
    return perShard.reduce((sum, { deleted }) => sum + deleted, 0)
  })
}
