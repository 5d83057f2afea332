import { isLooseleafError } from '@looseleaf/core'
import {
  moveBuckets,
  movesOf,
  resumeMoves,
  undoMove,
  type MoveProgress,
  type MoveReport,
} from '@looseleaf/mover'
import type { DataStore } from '@looseleaf/store'
import { moment } from '../lab/records.ts'
import { recordError, type GrowthWorker } from './growth-worker.ts'

/** Moves buckets, goes on with all moves, or undoes the first move that can be undone; then ends. */
export async function runMover(worker: GrowthWorker, store: DataStore): Promise<void> {
  const { recorder, config } = worker
  const { role, plan, leaseMs } = config
  const steps = new Map<number, string>()
  const options = {
    leaseMs,
    onProgress({ move, step, counts }: MoveProgress) {
      if (steps.get(move) === step) return
      steps.set(move, step)
      recorder.write({
        kind: 'step',
        move,
        step,
        at: moment(),
        copied: counts.entities + counts.rows + counts.claims,
      })
    },
  }
  const from = moment()
  worker.ready()
  try {
    if (role === 'move' && plan !== undefined) record(await moveBuckets(store, plan, options))
    else if (role === 'undo') {
      const [first] = await movesOf(store)
      if (first !== undefined) record(await undoMove(store, first.id, options))
    }
    for (const report of await resumeMoves(store, options)) record(report)
  } catch (error) {
    // An undo may come too late, and a plan may have been overtaken by another mover.
    if (!isLooseleafError(error, 'CONFLICT') && !(role !== 'move' && isLooseleafError(error, 'BAD_OPTION')))
      recordError(worker, role, from, error)
  }

  function record({ id: move, state, seals }: MoveReport): void {
    const { groups, p50, p99, worst } = seals
    recorder.write({
      kind: 'moved',
      move,
      state,
      at: moment(),
      seals: {
        groups,
        ...(p50 !== undefined && { p50 }),
        ...(p99 !== undefined && { p99 }),
        ...(worst !== undefined && { worst }),
      },
    })
  }
}
