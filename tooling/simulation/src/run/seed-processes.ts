import { fork, type ChildProcess } from 'node:child_process'
import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import type { SimulationOptions } from './simulation.ts'
import type { SimulationTotals } from './totals.ts'

/** Seeds for one process, run one after the other. */
export interface Job {
  readonly from: number
  readonly seeds: number
  readonly options: SimulationOptions
}

export interface SeedProcess {
  /** Runs one job at a time. Rejects if the process dies. */
  run(job: Job): Promise<SimulationTotals>
}

/**
 * Processes that run seeds, each started with its first job. They start slowly and get faster as they run, so
 * reuse them.
 */
export interface SeedProcesses {
  readonly all: readonly SeedProcess[]
  /** Stops the processes after their jobs. */
  stop(): void
}

/**
 * Jobs of a process, until another one takes its place. Calls of processes that crash in a life never end, so signals with their listeners
 * stay in memory.
 */
const MAX_JOBS = 100

export function startSeedProcesses(count: number): SeedProcesses {
  const children: (ChildProcess | undefined)[] = []
  return {
    all: Array.from({ length: count }, (_, n) => {
      let jobs = 0
      return {
        async run(job) {
          if (jobs++ % MAX_JOBS === 0) {
            children[n]?.disconnect()
            children[n] = await start()
          }
          return answerOf(children[n]!, job)
        },
      }
    }),
    stop() {
      for (const child of children.splice(0)) if (child?.connected === true) child.disconnect()
    },
  }
}

async function start(): Promise<ChildProcess> {
  return fork(await bundleOf(new URL('./seed-process.ts', import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
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
