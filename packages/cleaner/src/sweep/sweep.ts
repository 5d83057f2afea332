import { optionKinds, withCallbacks, type OptionKinds } from '@looseleaf/core/internal'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import { checkStore, pagesOfRows, shardAt } from '@looseleaf/protocol/internal'
import pLimit from 'p-limit'
import { entityPages } from '../look/entity-pages.ts'
import { checkNames } from '../pass/check-names.ts'
import { indexesNamed, indexTarget, type IndexTarget } from '../pass/index-target.ts'
import { passOptionKinds, type PassOptions } from '../pass/pass-options.ts'
import type { Tally } from '../pass/tally.ts'
import { TUNING, withoutTuning, type Tuned } from '../pass/tuning.ts'
import type { CleanerStore } from '../pass/cleaner-store.ts'
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

/** Reads all entities that are there when their shard's turn comes, and adds their missing rows. Returns the counts. Throws `INDEX_NOT_FOUND` and errors of shards. */
export async function sweepEntities(store: CleanerStore, options: Tuned<SweepOptions> = {}): Promise<Tally> {
  return onShards('sweepEntities', store, options, entitiesToRows)
}

/** Reads all index rows, and deletes those that match no committed entity. Returns the counts. Throws like `sweepEntities`. */
export async function sweepIndex(store: CleanerStore, options: Tuned<SweepOptions> = {}): Promise<Tally> {
  return onShards('sweepIndex', store, options, rowsToEntities)
}

/** Runs `sweepEntities` and `sweepIndex` once, without progress or leases. To be able to resume, use `cleanIndex`. */
export async function sweep(store: CleanerStore, options: SweepOptions = {}): Promise<Tally> {
  checkStore('sweep', store, options, sweepOptionKinds)
  return tunedSweep(store, options)
}

/** As `sweep`, with a tuning. */
export async function tunedSweep(store: CleanerStore, options: Tuned<SweepOptions> = {}): Promise<Tally> {
  return onShards('sweep', store, options, async (pass, targets, shard) => {
    await entitiesToRows(pass, targets, shard)
    await rowsToEntities(pass, targets, shard)
  })
}

async function entitiesToRows(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  shard: number,
): Promise<void> {
  const upTo = await shardAt(pass.context, shard).entities.lastAddedId({ signal: pass.signal })
  for await (const page of entityPages(pass, shard, { upTo, foreignRows: 'readAtOwner' }))
    await sweepEntityPage(pass, targets, page, { fill: () => false })
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

type SweepShard = (pass: RepairPass, targets: readonly IndexTarget[], shard: number) => Promise<void>

async function onShards(
  call: string,
  store: CleanerStore,
  options: Tuned<SweepOptions>,
  work: SweepShard,
): Promise<Tally> {
  checkStore(call, store, withoutTuning(options), sweepOptionKinds)
  checkNames(call, options.indexes)
  return withCallbacks(options, (taken) => sweepShards(store.context, taken, work))
}

async function sweepShards(
  context: EngineContext,
  options: Tuned<SweepOptions>,
  work: SweepShard,
): Promise<Tally> {
  await context.catalog.reload({ signal: options.signal })
  const targets = indexesNamed(context, options.indexes).map((entry) => indexTarget(context, entry))
  const shards = options.shard === undefined ? presentNumbers(context.driver) : [options.shard]
  for (const shard of shards) shardAt(context, shard)
  const pass = createRepairPass(context, options)
  const limit = pLimit(TUNING.shardsAtOnce)
  await untilOneFails(
    options.signal,
    shards.map((shard) => (signal) => limit(() => work({ ...pass, signal }, targets, shard))),
  )
  await pass.removals.settle(pass.signal)
  return pass.tally
}
