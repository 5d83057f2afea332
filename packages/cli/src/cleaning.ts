import {
  checkIndex,
  cleanIndex,
  type CheckResult,
  type CleanOptions,
  type CleanProgress,
  type CleanResult,
  type IndexName,
  type Problem,
} from '@looseleaf/cleaner'
import { isRight, progressText } from './clean-view.ts'
import { exitCodes, type ExitCode } from './exit-codes.ts'
import type { Output } from './output.ts'
import type { Session } from './session.ts'

/** Entities with a problem that are told one by one; the counts have them all. */
const MAX_TOLD = 20

const WAITING =
  'Another process works on the rest. Waiting for it to end; if it died, for its lease to run out (--lease, 30 seconds by default).'

/** As `cleanIndex`, with its progress, its problems and its waits told to people. */
export async function cleanTelling(
  session: Session,
  names: readonly IndexName[] | undefined,
  options: Pick<CleanOptions, 'restart' | 'rowsPerSecond' | 'leaseMs'> = {},
): Promise<CleanResult> {
  const { output, signal } = session
  const store = await session.store()
  const progress = output.progress({ label: 'cleaning', unit: 'rows' })
  const position = createPosition(store.context.driver.shards.length)
  const problems = createProblemTeller(output, (write) => progress.aside(write))
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
      output.note('What was done is kept: the same command goes on from here.')
    }
    throw error
  } finally {
    progress.stop()
  }
}

/** What a cleaning has come to: 1 where something is left that no cleaning repairs, or a filling is halted. */
export function exitCodeOfClean({ complete }: CleanResult): ExitCode {
  return complete ? exitCodes.ok : exitCodes.found
}

/** As `checkIndex` of each, with its problems told to people. */
export async function checkTelling(
  session: Session,
  names: readonly IndexName[],
  rowsPerSecond?: number | undefined,
): Promise<{ readonly ok: boolean; readonly indexes: readonly CheckResult[] }> {
  const { output, signal } = session
  const store = await session.store()
  const onProblem = createProblemTeller(output, (write) => write())
  const indexes: CheckResult[] = []
  for (const name of names) indexes.push(await checkIndex(store, name, { signal, rowsPerSecond, onProblem }))
  return { ok: indexes.every(isRight), indexes }
}

const PHASES: readonly CleanProgress['phase'][] = ['entities', 'dangling', 'check', 'ready']

/** Sums the shards up to rows done and the share of the whole, in which every phase of a shard counts the same. */
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
  let total = 0
  for (const number of numbers) total += number
  return total
}

function createProblemTeller(output: Output, aside: (write: () => void) => void): (problem: Problem) => void {
  const told = new Set<string>()
  return ({ kind, entity, shard, index, reason }) => {
    const key = `${kind} ${entity} ${index ?? ''}`
    if (told.has(key) || told.size > MAX_TOLD) return
    told.add(key)
    aside(() => {
      if (told.size > MAX_TOLD) output.note('More of these are counted below.')
      else
        output.note(
          `${output.colors.yellow(`${kind}:`)} entity ${entity} on ${shard}${index === undefined ? '' : `, index ${index}`}: ${reason}`,
        )
    })
  }
}
