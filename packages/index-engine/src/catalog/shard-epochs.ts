import type { CallOptions, Shard } from '@looseleaf/core'
import type { CatalogChangeOptions, ShardCatalog, ShardServes } from '@looseleaf/core/internal'
import { contentsEpochOf } from './catalog.ts'
import { contentsOf } from './catalog-contents.ts'

/**
 * Returns the next epoch of a shard. It comes from the shard's clock, because a counter could give one epoch to two catalogs:
 * 1. A process changes the catalog and gets epoch 8. Another process reads it.
 * 2. A failover loses the change, so the shard is back at epoch 7.
 * 3. The next change would get epoch 8 again. Writers that know the first epoch 8 would pass with the wrong catalog.
 */
export async function nextEpoch(
  shard: Shard,
  { epoch }: Pick<ShardCatalog, 'epoch'>,
  options?: CallOptions,
): Promise<number> {
  return Math.max(epoch + 1, await shard.now(options))
}

/** Returns a shard's catalog with the later contents of another shard. Its own fields stay. */
export async function withContents(
  shard: Shard,
  current: ShardCatalog,
  source: ShardCatalog,
  options?: CallOptions,
): Promise<ShardCatalog> {
  const epochs = await copiedEpochs(shard, current, source, options)
  return { ...current, ...contentsOf(source), ...epochs }
}

/** Returns the epochs of a shard that takes the contents of another one. Give the epoch 0 for a shard without a catalog. */
export async function copiedEpochs(
  shard: Shard,
  current: Pick<ShardCatalog, 'epoch' | 'serves'>,
  source: ShardCatalog,
  options?: CallOptions,
): Promise<Epochs> {
  const contentsEpoch = contentsEpochOf(source)
  const hasMoves = source.layout?.moves !== undefined || current.serves !== undefined
  // Without moves the epoch of the contents is new to the shard. With moves its epoch may be ahead of them, and needs its own clock.
  if (!hasMoves) return epochsOf(contentsEpoch, contentsEpoch)
  return epochsOf(Math.max(contentsEpoch, await nextEpoch(shard, current, options)), contentsEpoch)
}

type Epochs = Pick<ShardCatalog, 'epoch' | 'contentsEpoch'>

/** Returns the fields of these epochs. A store without moves stores the same text as before there were moves. */
function epochsOf(epoch: number, contentsEpoch: number): Epochs {
  return { epoch, contentsEpoch: contentsEpoch === epoch ? undefined : contentsEpoch }
}

export interface ChangeOptions extends CatalogChangeOptions {
  /** A reading of the shard's clock that no other change goes by, in microseconds since 1970. Default: the clock is read first. */
  readonly now?: number | undefined
}

/**
 * Changes the buckets that a shard serves, keeps the contents of its catalog, and raises its epoch, if the shard still has the epoch of
 * `current`. The shard then accepts no write of a process that does not know the change, and every write before it has ended.
 *
 * Returns the new catalog, which is durable: a shard answers a change when it is on disk. Returns undefined if another change came
 * first, or if the shard lacks the state `holding`: read the catalog again then. An error with an unknown outcome leaves it to the catalog
 * whether `serves` was changed; a change that was read, not made, may still be undone by a crash.
 */
export async function changeServes(
  shard: Shard,
  current: ShardCatalog,
  serves: ShardServes,
  { now, ...options }: ChangeOptions = {},
): Promise<ShardCatalog | undefined> {
  const epoch =
    now === undefined ? await nextEpoch(shard, current, options) : Math.max(current.epoch + 1, now)
  const next = { ...current, serves, ...epochsOf(epoch, contentsEpochOf(current)) }
  return (await shard.catalog.change(next, current.epoch, options)) ? next : undefined
}
