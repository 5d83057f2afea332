import type { DataStore, MoveProgress, PlannedMove } from '@looseleaf/store'
import { expect } from 'vitest'
import { moveBuckets, movesOf, resumeMoves } from '@looseleaf/mover/internal'
import { SOME_BUCKETS } from '../stores.ts'

export const PLAN = { from: 0, to: 1, buckets: SOME_BUCKETS }

/** Moves the buckets until this step begins, or until a later report of this step. */
export async function moveUntil(
  mover: DataStore,
  last: MoveProgress['step'],
  plan: PlannedMove = PLAN,
  isLast: () => boolean = () => true,
): Promise<void> {
  const stopped = new AbortController()
  const onProgress = ({ step }: { readonly step: MoveProgress['step'] }): void => {
    if (step === last && isLast()) stopped.abort()
  }
  const moving = moveBuckets(mover, plan, { groups: 2, onProgress, signal: stopped.signal })
  await expect(moving).rejects.toMatchObject({ code: 'ABORTED' })
}

/** Goes on with all moves until they are over. Consumers need some real time. */
export async function finishMoves(mover: DataStore): Promise<void> {
  while ((await movesOf(mover)).length > 0) {
    await resumeMoves(mover, { consumersMs: 0 })
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
