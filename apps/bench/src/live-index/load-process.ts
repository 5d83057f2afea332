import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { percentile } from '../measure/statistics.ts'
import { forkPart } from './fork-part.ts'
import type { LoadConfig, LoadReport } from './load-types.ts'

/** Milliseconds of the calls that were due in a stretch of time. */
export interface Latency {
  readonly calls: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export interface EndedLoad {
  /** Both in milliseconds since 1970. */
  between(from: number, to: number): Latency
  readonly errors: LoadReport['errors']
}

/** The process of the load. */
export interface LoadProcess {
  /** Resolves when its calls begin. */
  start(): Promise<void>
  /** Lets calls under way end. */
  stop(): Promise<EndedLoad>
  /** Nothing happens when it has ended. */
  kill(): void
}

export function createLoad(config: LoadConfig): LoadProcess {
  let child: ChildProcess | undefined
  let report: LoadReport | undefined
  return {
    async start() {
      child = forkPart('load.ts', config)
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
