import { isLooseleafError } from '@looseleaf/core'
import type { DataStore, MoveProgress, MoveReport } from '@looseleaf/store'
import { moment } from '../lab/records.ts'
import { recordError, type GrowthWorker } from './growth-worker.ts'
import type { Role } from './records.ts'

/** Does one job of `store.shards`, and ends. */
export async function runMover(worker: GrowthWorker, { shards }: DataStore): Promise<void> {
  const { recorder, config } = worker
  const { role, plan, shard, leaseMs, rowsPerSecond } = config
  const steps = new Map<number, string>()
  const options = {
    leaseMs,
    rowsPerSecond,
    onProgress({ move, step, counts }: MoveProgress) {
      if (steps.get(move) === step) return
      steps.set(move, step)
      const copied = counts.entities + counts.rows + counts.claims
      recorder.write({ kind: 'step', move, step, at: moment(), copied })
    },
  }
  const from = moment()
  worker.ready()
  try {
    for (const report of await job()) record(report)
  } catch (error) {
    if (!isOvertaken(role, error)) recordError(worker, role, from, error)
  }

  async function job(): Promise<readonly MoveReport[]> {
    if (role === 'move' && plan !== undefined) return [await shards.move(plan, options)]
    if (role === 'drain' && shard !== undefined) return shards.drain(shard, options)
    if (role === 'undo') {
      const [first] = await shards.moves()
      if (first !== undefined) return [await shards.undo(first.id, options)]
    }
    const { moves, problems } = await shards.repair(options)
    for (const problem of problems) recordProblem(worker, from, problem)
    return moves
  }

  function record({ id: move, state }: MoveReport): void {
    recorder.write({ kind: 'moved', move, state, at: moment() })
  }
}

/** A problem counts as a failed call. One with the owners of buckets is wrong at any time. */
function recordProblem({ recorder }: GrowthWorker, from: number, problem: string): void {
  recorder.write({
    kind: 'error',
    call: 'repair',
    from,
    to: moment(),
    code: 'none',
    message: problem,
    retryable: !/\bown/.test(problem),
  })
}

/** An undo may come too late, and another mover may have been faster. */
function isOvertaken(role: Role, error: unknown): boolean {
  if (isLooseleafError(error, 'CONFLICT')) return role === 'undo' || role === 'move'
  return isLooseleafError(error, 'BAD_OPTION') && role !== 'drain'
}
