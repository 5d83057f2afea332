import { availableParallelism } from 'node:os'
import { startSeedProcesses, type Job, type SeedProcess, type SeedProcesses } from './seed-processes.ts'
import type { SimulationOptions } from './simulation.ts'
import { addTotals, noTotals, type SimulationTotals } from './totals.ts'

export interface RunOptions extends SimulationOptions {
  readonly from: number
  readonly seeds: number
  /** Number of processes. Default: one per core. The result does not depend on it. */
  readonly processes?: number | undefined
  /** Processes to use; the caller stops them. Default: new ones. */
  readonly by?: SeedProcesses | undefined
  /** Starts no more seeds after the first failure. Default: false. */
  readonly stopsAtFirst?: boolean | undefined
  /** Called after every few seeds. */
  readonly onProgress?: ((soFar: SimulationTotals) => void) | undefined
}

const SEEDS_PER_JOB = 5

/** Runs many seeds on several cores and adds up the results. Rejects if a process dies. */
export async function runSeeds(options: RunOptions): Promise<SimulationTotals> {
  const { from, seeds, flaw, lifeOf, faults, clients, parts, stopsAtFirst = false } = options
  // Processes end their jobs, so a search for the first failure takes short ones.
  const seedsPerJob = stopsAtFirst ? 1 : SEEDS_PER_JOB
  const totals = noTotals()
  const end = from + seeds
  let next = from

  function takeJob(): Job | undefined {
    if (next >= end || (stopsAtFirst && totals.violations.length > 0)) return undefined
    const job: Job = {
      from: next,
      seeds: Math.min(seedsPerJob, end - next),
      options: { flaw, lifeOf, faults, clients, parts },
    }
    next += job.seeds
    return job
  }

  async function work(process: SeedProcess): Promise<void> {
    for (let job = takeJob(); job !== undefined; job = takeJob()) {
      addTotals(totals, await process.run(job))
      options.onProgress?.(totals)
    }
  }

  const processes = options.by ?? startSeedProcesses(options.processes ?? availableParallelism())
  try {
    await Promise.all(processes.all.map(work))
  } finally {
    if (options.by === undefined) processes.stop()
  }
  return totals
}
