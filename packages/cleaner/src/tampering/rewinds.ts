import type { CallOptions } from '@looseleaf/core'
import { presentEntries, type EngineContext } from '@looseleaf/index-engine/internal'
import {
  lookAtMarks,
  shardAt,
  rewindOf,
  type MarkLook,
  type Rewind,
  type AnyStore,
} from '@looseleaf/protocol/internal'
import { createMarkKeeper } from './keep-marks.ts'
import { isSweptSince } from './swept-since.ts'

export { rewindText } from '@looseleaf/protocol/internal'

/** A shard that lost commits, for example by a restore from a backup. */
export interface ShardRewind extends Rewind {
  readonly shard: string
}

/**
 * Returns the shards that went back in time, by their marks and the records of cleaners. `isSwept` is true once every index was cleaned by a run
 * that began later. Skips shards that do not answer.
 */
export async function readRewinds(
  store: AnyStore,
  options: CallOptions = {},
): Promise<readonly ShardRewind[]> {
  const { context } = store
  const looks = await lookAtMarks(presentEntries(context.driver), options)
  const found = await Promise.all(looks.map((look) => wentBackIn(context, look, options)))
  return found.filter((shard) => shard !== undefined)
}

/** Compares and raises the marks of all shards once, for programs without `startCleaner`. */
export async function checkRewinds(store: AnyStore, options: CallOptions = {}): Promise<void> {
  const { context } = store
  await createMarkKeeper(context, context.random.uuid()).look(options)
}

async function wentBackIn(
  context: EngineContext,
  look: MarkLook,
  options: CallOptions,
): Promise<ShardRewind | undefined> {
  const wentBack = rewindOf(look, context.time.now())
  if (wentBack === undefined) return undefined
  const isSwept = wentBack.isSwept || (await isSweptSince(context, wentBack.foundAt, options))
  return { ...wentBack, isSwept, shard: shardAt(context, look.shard).name }
}
