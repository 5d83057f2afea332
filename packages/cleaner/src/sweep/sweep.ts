import { optionKinds, withCallbacks, type OptionKinds } from '@looseleaf/core/internal'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import { allBuckets, checkStore, pagesOfRows, shardAt, type AnyStore } from '@looseleaf/protocol/internal'
import pLimit from 'p-limit'
import { entitiesOfShard, unreadEntities } from '../look/walk-entities.ts'
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

type Direction = 'entities' | 'rows'

/**
 * Makes one pass, without progress or leases; to be able to resume, use `cleanIndex`. Reads all entities that are there when their shard's turn
 * comes, and adds their missing rows; then reads all index rows, and deletes those that match no committed entity. Entities of a bucket that
 * moves meanwhile are read at its new shard, so some are read twice; with `shard` they are left out. Returns the counts. Throws
 * `INDEX_NOT_FOUND` and errors of shards.
 */
export async function sweep(store: AnyStore, options: SweepOptions = {}): Promise<Tally> {
  checkStore('sweep', store, options, sweepOptionKinds)
  return tunedSweep(store, options)
}

/** As `sweep`, with a tuning, without a check of the options, and in these directions alone. */
export async function tunedSweep(
  store: AnyStore,
  options: Tuned<SweepOptions> = {},
  directions: readonly Direction[] = ['entities', 'rows'],
): Promise<Tally> {
  checkNames('sweep', options.indexes)
  return withCallbacks(options, (taken) => sweepShards(store.context, taken, directions))
}

async function entitiesToRows(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  pages: ReturnType<typeof entitiesOfShard>,
): Promise<void> {
  for await (const page of pages) await sweepEntityPage(pass, targets, page)
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
    if (directions.includes('entities'))
      await entitiesToRows(shardPass, targets, entitiesOfShard(shardPass, shard, unread))
    if (directions.includes('rows')) await rowsToEntities(shardPass, targets, shard)
  }
  await untilOneFails(
    options.signal,
    shards.map((shard) => (signal) => limit(() => sweepShard({ ...pass, signal }, shard))),
  )
  // Moved entities may have no owner now, which rejects.
  await pass.removals.settle(pass.signal)
  if (directions.includes('entities') && options.shard === undefined)
    await entitiesToRows(pass, targets, unreadEntities(pass, unread))
  await pass.removals.settle(pass.signal)
  return pass.tally
}
