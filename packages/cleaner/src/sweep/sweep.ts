import { optionKinds, withCallbacks, type OptionKinds } from '@looseleaf/core/internal'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import {
  allBuckets,
  checkStore,
  pagesOfRows,
  shardAt,
  walkUnread,
  watchOwned,
  type AnyStore,
} from '@looseleaf/protocol/internal'
import pLimit from 'p-limit'
import { entityPages, type EntityPagesOptions } from '../look/entity-pages.ts'
import { checkNames } from '../pass/check-names.ts'
import { indexesNamed, indexTarget, type IndexTarget } from '../pass/index-target.ts'
import { passOptionKinds, type PassOptions } from '../pass/pass-options.ts'
import type { Tally } from '../pass/tally.ts'
import { TUNING, type Tuned } from '../pass/tuning.ts'
import { createRepairPass, type RepairPass } from '../repair/repair-pass.ts'
import { untilOneFails } from '../tools/until-one-fails.ts'
import { sweepEntityPage } from './sweep-entities.ts'
import { gatherRows, sweepIndexRows } from './sweep-index.ts'

export interface SweepOptions extends PassOptions {
  /** Names of the indexes. Default: all. */
  readonly indexes?: string | readonly string[] | undefined
  /** Number of the shard, from 0. Default: all shards. */
  readonly shard?: number | undefined
}

const sweepOptionKinds: OptionKinds<SweepOptions> = {
  ...passOptionKinds,
  indexes: optionKinds.elsewhere,
  shard: optionKinds.elsewhere,
}

/**
 * Reads all entities that are there when their shard's turn comes, and adds their missing rows. Entities of a bucket that moves meanwhile are read
 * at its new shard, so some are read twice; with `shard` they are left out. Returns the counts. Throws `INDEX_NOT_FOUND` and errors of shards.
 */
export async function sweepEntities(store: AnyStore, options: Tuned<SweepOptions> = {}): Promise<Tally> {
  return onShards('sweepEntities', store, options, ['entities'])
}

/** Reads all index rows, and deletes those that match no committed entity. Returns the counts. Throws like `sweepEntities`. */
export async function sweepIndex(store: AnyStore, options: Tuned<SweepOptions> = {}): Promise<Tally> {
  return onShards('sweepIndex', store, options, ['rows'])
}

/** Runs `sweepEntities` and `sweepIndex` once, without progress or leases. To be able to resume, use `cleanIndex`. */
export async function sweep(store: AnyStore, options: SweepOptions = {}): Promise<Tally> {
  checkStore('sweep', store, options, sweepOptionKinds)
  return tunedSweep(store, options)
}

/** As `sweep`, with a tuning, and without a check of the options. */
export async function tunedSweep(store: AnyStore, options: Tuned<SweepOptions> = {}): Promise<Tally> {
  return onShards('sweep', store, options, ['entities', 'rows'])
}

/** Sweeps the entities of a shard, and takes the buckets that the shard has owned all the time out of `unread`. */
async function entitiesToRows(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  shard: number,
  unread: Set<number>,
): Promise<void> {
  const watch = await watchOwned(pass.context, shard, pass)
  for await (const page of presentEntities(pass, shard, { watch }))
    await sweepEntityPage(pass, targets, page, { fill: () => false })
  await watch.owned([])
  for (const bucket of watch.kept) unread.delete(bucket)
}

/** Sweeps the entities of buckets that no shard has owned while it was read: they may have left a shard before, and come to another one after it was read. */
async function movedToRows(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  unread: Set<number>,
): Promise<void> {
  const read = (shard: number, after: number): ReturnType<typeof presentEntities> =>
    presentEntities(pass, shard, { after })
  for await (const [rows] of walkUnread(pass.context, unread, read, pass))
    await sweepEntityPage(pass, targets, rows, { fill: () => false })
}

/** Yields the pages of the entities that a shard has at the beginning. */
async function* presentEntities(
  pass: RepairPass,
  shard: number,
  options: Pick<EntityPagesOptions, 'after' | 'watch'>,
): ReturnType<typeof entityPages> {
  const upTo = await shardAt(pass.context, shard).entities.lastAddedId({ signal: pass.signal })
  yield* entityPages(pass, shard, { ...options, upTo })
}

async function rowsToEntities(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  shard: number,
): Promise<void> {
  const rows = gatherRows(pass)
  for (const target of targets) {
    for await (const page of pagesOfRows(pass, target.entry, shard, { limit: pass.maxPage })) {
      rows.add(target, page)
      if (rows.areMany) await sweepIndexRows(pass, shard, rows.take())
      if (pass.removals.isFull) await pass.removals.settle(pass.signal)
    }
  }
  await sweepIndexRows(pass, shard, rows.take())
}

type Direction = 'entities' | 'rows'

async function onShards(
  call: string,
  store: AnyStore,
  options: Tuned<SweepOptions>,
  directions: readonly Direction[],
): Promise<Tally> {
  checkNames(call, options.indexes)
  return withCallbacks(options, (taken) => sweepShards(store.context, taken, directions))
}

async function sweepShards(
  context: EngineContext,
  options: Tuned<SweepOptions>,
  directions: readonly Direction[],
): Promise<Tally> {
  await context.catalog.reload({ signal: options.signal })
  const targets = indexesNamed(context, options.indexes).map((entry) => indexTarget(context, entry))
  const shards = options.shard === undefined ? presentNumbers(context.driver) : [options.shard]
  for (const shard of shards) shardAt(context, shard)
  const pass = createRepairPass(context, options)
  const limit = pLimit(TUNING.shardsAtOnce)
  const unread = allBuckets(context)
  async function sweepShard(shardPass: RepairPass, shard: number): Promise<void> {
    if (directions.includes('entities')) await entitiesToRows(shardPass, targets, shard, unread)
    if (directions.includes('rows')) await rowsToEntities(shardPass, targets, shard)
  }
  await untilOneFails(
    options.signal,
    shards.map((shard) => (signal) => limit(() => sweepShard({ ...pass, signal }, shard))),
  )
  // Moved entities may have no owner now, which rejects.
  await pass.removals.settle(pass.signal)
  if (directions.includes('entities') && options.shard === undefined) await movedToRows(pass, targets, unread)
  await pass.removals.settle(pass.signal)
  return pass.tally
}
