import { presentShards } from '@looseleaf/index-engine/internal'
import {
  checkIndex,
  cleanIndex,
  type CheckResult,
  type CleanOptions,
  type CleanProgress,
  type CleanResult,
  type Problem,
} from '@looseleaf/cleaner'
import type { IndexName } from '@looseleaf/cleaner/internal'
import { isCorrect, progressText } from './clean-view.ts'
import { exitCodes, type ExitCode } from '../running/exit-codes.ts'
import type { Output } from '../output/output.ts'
import type { Invocation } from '../running/invocation.ts'

/** Entities with a problem that are listed one by one. The counts include all. */
const MAX_REPORTED = 20

const WAITING =
  'Another process works on the rest. Waiting until it ends or, if it has died, until its lease expires (--lease, 30 seconds by default).'

/** Runs `cleanIndex`, and shows its progress, problems and waits to people. */
export async function cleanAndReport(
  invocation: Invocation,
  names: readonly IndexName[] | undefined,
  options: Pick<CleanOptions, 'restart' | 'rowsPerSecond' | 'leaseMs'> = {},
): Promise<CleanResult> {
  const { output, signal } = invocation
  const store = await invocation.openStore()
  const progress = output.progress({ label: 'cleaning', unit: 'rows' })
  const position = createPosition(presentShards(store.context.driver).length)
  const problems = createProblemReporter(output, (write) => progress.aside(write))
  let hasWaited = false
  try {
    return await cleanIndex(store, names, {
      signal,
      ...options,
      onProblem: problems,
      onProgress: (at) => progress.update(...position(at), progressText(at)),
      onWait() {
        if (hasWaited) return
        hasWaited = true
        progress.aside(() => output.note(WAITING))
      },
    })
  } catch (error) {
    if (signal.aborted) {
      progress.stop()
      output.note('Progress is saved: the same command continues from here.')
    }
    throw error
  } finally {
    progress.stop()
  }
}

/** Returns `found` when a problem remains that no cleaning repairs, or a filling is halted. */
export function exitCodeOfClean({ complete }: CleanResult): ExitCode {
  return complete ? exitCodes.ok : exitCodes.found
}

/** Runs `checkIndex` for each name, and shows the problems to people. */
export async function checkAndReport(
  invocation: Invocation,
  names: readonly IndexName[],
  rowsPerSecond?: number | undefined,
): Promise<{ readonly ok: boolean; readonly indexes: readonly CheckResult[] }> {
  const { output, signal } = invocation
  const store = await invocation.openStore()
  const onProblem = createProblemReporter(output, (write) => write())
  const indexes: CheckResult[] = []
  for (const name of names) indexes.push(await checkIndex(store, name, { signal, rowsPerSecond, onProblem }))
  return { ok: indexes.every(isCorrect), indexes }
}

const PHASES: readonly CleanProgress['phase'][] = ['entities', 'dangling', 'check', 'ready']

/** Adds up the progress of all shards: rows done, and the fraction of the whole. Each phase of a shard has the same weight. */
function createPosition(shardCount: number): (at: CleanProgress) => [done: number, fraction: number] {
  const shares = new Map<number, number>()
  const seen = new Map<string, number>()
  return ({ phase, shard, done, total }) => {
    const phases = PHASES.indexOf(phase) + (phase === 'ready' ? 0 : done / Math.max(1, total))
    shares.set(shard, Math.max(shares.get(shard) ?? 0, phases / (PHASES.length - 1)))
    seen.set(`${phase} ${shard}`, done)
    return [sum(seen.values()), sum(shares.values()) / shardCount]
  }
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, number) => total + number, 0)
}

function createProblemReporter(
  output: Output,
  aside: (write: () => void) => void,
): (problem: Problem) => void {
  const reported = new Set<string>()
  return ({ kind, entity, shard, index, reason }) => {
    const key = `${kind} ${entity} ${index ?? ''}`
    if (reported.has(key) || reported.size > MAX_REPORTED) return
    reported.add(key)
    aside(() => {
      if (reported.size > MAX_REPORTED) output.note('Further problems are counted below without a line each.')
      else
        output.note(
          `${output.colors.yellow(`${kind}:`)} entity ${entity} on ${shard}${index === undefined ? '' : `, index ${index}`}: ${reason}`,
        )
    })
  }
}
