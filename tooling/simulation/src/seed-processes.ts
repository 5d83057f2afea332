import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { SimulationOptions } from './simulation.ts'
import type { SimulationTotals } from './totals.ts'

/** Some seeds for one process, one after the other. */
export interface Job {
  readonly from: number
  readonly seeds: number
  readonly options: SimulationOptions
}

export interface SeedProcess {
  /** One job at a time. Rejects when the process dies. */
  run(job: Job): Promise<SimulationTotals>
}

/** Processes that run seeds, each started with its first job: they are slow to start, and quicker the longer they run. */
export interface SeedProcesses {
  readonly all: readonly SeedProcess[]
  /** Lets them end. */
  stop(): void
}

export function startSeedProcesses(count: number): SeedProcesses {
  const children: (ChildProcess | undefined)[] = []
  return {
    all: Array.from({ length: count }, (_, n) => ({
      run: (job) => answerOf((children[n] ??= start()), job),
    })),
    stop() {
      for (const child of children.splice(0)) if (child?.connected === true) child.disconnect()
    },
  }
}

function start(): ChildProcess {
  return fork(fileURLToPath(new URL('./seed-process.ts', import.meta.url)), {
    // Workspace packages are taken from their sources.
    execArgv: ['--conditions=@looseleaf/source', '--disable-warning=ExperimentalWarning'],
  })
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
