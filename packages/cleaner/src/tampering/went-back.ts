import type { CallOptions } from '@looseleaf/core'
import { optionKinds } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import {
  checkStore,
  lookAtMarks,
  shardAt,
  wentBackOf,
  type MarkLook,
  type WentBack,
} from '@looseleaf/protocol/internal'
import { createMarkKeeper } from './keep-marks.ts'
import { isSweptSince } from './swept-since.ts'
import type { CleanerStore } from '../pass/cleaner-store.ts'

export { wentBackText } from '@looseleaf/protocol/internal'

/** A shard that lost commits, for example by a restore from a backup. */
export interface ShardWentBack extends WentBack {
  readonly shard: string
}

/**
 * Returns the shards that went back in time, by their marks and the records of cleaners. `isSwept` is true once every index was cleaned by a run
 * that began later. Skips shards that do not answer.
 */
export async function readWentBack(
  store: CleanerStore,
  options: CallOptions = {},
): Promise<readonly ShardWentBack[]> {
  checkStore('readWentBack', store, options, { signal: optionKinds.signal })
  const { context } = store
  const looks = await lookAtMarks(context.driver.shards, options)
  const found = await Promise.all(looks.map((look) => wentBackIn(context, look, options)))
  return found.filter((shard) => shard !== undefined)
}

/** Compares and raises the marks of all shards once, for programs without `startCleaner`. */
export async function lookForWentBack(store: CleanerStore, options: CallOptions = {}): Promise<void> {
  checkStore('lookForWentBack', store, options, { signal: optionKinds.signal })
  const { context } = store
  await createMarkKeeper(context, context.random.uuid()).look(options)
}

async function wentBackIn(
  context: EngineContext,
  look: MarkLook,
  options: CallOptions,
): Promise<ShardWentBack | undefined> {
  const wentBack = wentBackOf(look, context.time.now())
  if (wentBack === undefined) return undefined
  const isSwept = wentBack.isSwept || (await isSweptSince(context, wentBack.foundAt, options))
  return { ...wentBack, isSwept, shard: shardAt(context, look.shard).name }
}
