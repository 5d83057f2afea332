import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { percentile } from '../measure/statistics.ts'
import { forkProgram } from './fork-program.ts'
import type { LoadConfig, LoadReport } from './load-types.ts'

/** Number of the calls that were due in a period, and their times in milliseconds. */
export interface Latency {
  readonly calls: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export interface EndedLoad {
  /** Returns the latency of the calls due from `from` until before `to`, both in milliseconds since 1970. */
  between(from: number, to: number): Latency
  readonly errors: LoadReport['errors']
}

/** Controls the process that makes the load. */
export interface LoadProcess {
  /** Resolves when its calls begin. */
  start(): Promise<void>
  /** Waits for calls in flight. Throws if the process ended without a report. */
  stop(): Promise<EndedLoad>
  /** Ends the process without a report. Harmless after `stop`. */
  kill(): void
}

export function createLoad(config: LoadConfig): LoadProcess {
  let child: ChildProcess | undefined
  let report: LoadReport | undefined
  return {
    async start() {
      child = forkProgram('load.ts', config)
      child.on('message', (message: 'ready' | LoadReport) => {
        if (message !== 'ready') report = message
      })
      await Promise.race([once(child, 'message'), once(child, 'exit')])
    },
    async stop() {
      if (child?.exitCode === null) {
        child.send('stop')
        await once(child, 'exit')
      }
      if (report === undefined) throw new Error('The load ended without a report.')
      const { samples, errors } = report
      return { errors, between: (from, to) => latency(samples, from, to) }
    },
    kill: () => void child?.kill('SIGKILL'),
  }
}

function latency(samples: LoadReport['samples'], from: number, to: number): Latency {
  const times = samples.flatMap(({ at, ms }) => (at >= from && at < to ? [ms] : [])).toSorted((a, b) => a - b)
  return {
    calls: times.length,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    max: times.at(-1) ?? 0,
  }
}
