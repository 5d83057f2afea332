import { fork, type ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { SimulationOptions } from './simulate.ts'
import { addTotals, noTotals, type SimulationTotals } from './totals.ts'

export interface RunOptions extends SimulationOptions {
  readonly from: number
  readonly seeds: number
  /** Default: as many as the machine has cores. What comes out does not depend on it. */
  readonly processes?: number | undefined
  /** Begin no more seeds once one has failed. Default: false. */
  readonly stopsAtFirst?: boolean | undefined
  /** Told after every few seeds. */
  readonly onProgress?: ((soFar: SimulationTotals) => void) | undefined
}

/** Some seeds for one process, one after the other. */
export interface Job {
  readonly from: number
  readonly seeds: number
  readonly options: SimulationOptions
}

const SEEDS_PER_JOB = 20

/** Runs many seeds on several cores and sums up. Rejects when a process of its own dies. */
export async function runSeeds(options: RunOptions): Promise<SimulationTotals> {
  const { from, seeds, flaw, faults } = options
  const totals = noTotals()
  const end = from + seeds
  let next = from

  function takeJob(): Job | undefined {
    if (next >= end || (options.stopsAtFirst === true && totals.violations.length > 0)) return undefined
    const job = { from: next, seeds: Math.min(SEEDS_PER_JOB, end - next), options: { flaw, faults } }
    next += job.seeds
    return job
  }

  async function work(): Promise<void> {
    const child = fork(fileURLToPath(new URL('./seed-process.ts', import.meta.url)), {
      // Workspace packages are taken from their sources.
      execArgv: ['--conditions=@looseleaf/source', '--disable-warning=ExperimentalWarning'],
    })
    try {
      for (let job = takeJob(); job !== undefined; job = takeJob()) {
        addTotals(totals, await answerOf(child, job))
        options.onProgress?.(totals)
      }
    } finally {
      if (child.connected) child.disconnect()
    }
  }

  const processes = Math.min(options.processes ?? availableParallelism(), Math.ceil(seeds / SEEDS_PER_JOB))
  await Promise.all(Array.from({ length: processes }, work))
  return totals
}

function answerOf(child: ChildProcess, job: Job): Promise<SimulationTotals> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void =>
      reject(new Error(`The process of seeds ${job.from} to ${job.from + job.seeds - 1} ended (${code}).`))
    child.once('exit', onExit)
    child.once('message', (totals: SimulationTotals) => {
      child.off('exit', onExit)
      resolve(totals)
    })
    child.send(job)
  })
}
