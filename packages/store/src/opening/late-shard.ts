import type { CallOptions, Shard } from '@looseleaf/core'
import { interceptShard, untilAborted, type ShardCatalog } from '@looseleaf/core/internal'
import { loadShardCatalog } from '@looseleaf/index-engine/internal'

export interface LateShardOptions {
  /** Throws if this is another shard. The catalog is undefined if the shard has none. */
  readonly check: (catalog: ShardCatalog | undefined) => void
  /** Returns the error of a call whose shard did not answer or did not pass the check. Default: that error itself. */
  readonly errorOf?: ((error: unknown) => unknown) | undefined
  /** Called once, when the shard has answered and passed the check. */
  readonly onAnswer: () => void
}

/**
 * Wraps a shard that has not been checked: it did not answer when the store was opened, or joined the store later. Checks its catalog before the first call is sent, and rejects calls until the
 * check passes: its address may lead to another database.
 */
export function lateShard(shard: Shard, { check, errorOf, onAnswer }: LateShardOptions): Shard {
  let isKnown = false
  let checking: Promise<void> | undefined

  async function ask(): Promise<void> {
    try {
      check(await loadShardCatalog(shard))
    } catch (error) {
      throw errorOf === undefined ? error : errorOf(error)
    }
    isKnown = true
    onAnswer()
  }

  async function untilKnown(signal: AbortSignal | undefined): Promise<void> {
    checking ??= ask().finally(() => (checking = undefined))
    await untilAborted(checking, signal)
  }

  return interceptShard(shard, async ({ args }, run) => {
    // Every method of the ports takes its options last.
    if (!isKnown) await untilKnown((args.at(-1) as CallOptions | undefined)?.signal)
    return run()
  })
}
