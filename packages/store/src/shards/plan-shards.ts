import type { CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { planMoves, type MovePlan, type MoveRequest } from '@looseleaf/mover/internal'
import { NOTED_MS, type FailureReport } from '../failures/failure-note.ts'
import { readFailures } from '../failures/read-failures.ts'

/** Plans moves as `planMoves` does, and warns of processes whose calls fail on a target. */
export async function planShards(
  context: EngineContext,
  request: MoveRequest,
  options: CallOptions,
): Promise<MovePlan> {
  const plan = await planMoves(context, request, options)
  const targets = new Set(plan.moves.map(({ to }) => context.driver.shards[to]?.name))
  const reports = await readFailures(context, options)
  const now = context.time.now()
  const isNow = ({ isOver, at }: FailureReport): boolean => !isOver && now - at.getTime() <= NOTED_MS
  const warnings = reports
    .filter(isNow)
    .flatMap(({ process, failures }) =>
      failures
        .filter(({ shard }) => targets.has(shard))
        .map(
          ({ code, shard, count, message }) =>
            `Process ${process} may not reach ${shard}: ${count} of its calls failed there with ${code} (${message})`,
        ),
    )
  return { ...plan, warnings: [...plan.warnings, ...warnings] }
}
