import type { ScenarioName } from '../workload/scenarios.ts'
import type { RunReport } from '../client/orders.ts'
import { percentile } from './statistics.ts'
import { usagePerCall, type ServerUsage } from './usage.ts'

/** One measurement: a scenario and the load that calls it. */
export interface Cell {
  readonly scenario: ScenarioName
  /** Callers of all processes together. */
  readonly callers: number
  readonly processes: number
  readonly seconds: number
  /** Seconds of uncounted calls before the counted ones. */
  readonly runIn?: number
  /** Calls a second of all processes together. If undefined, each caller calls again as soon as it is answered. */
  readonly rate?: number
}

/** Result of one side in one round. Times are in milliseconds, CPU is in µs per call. */
export interface Sample {
  readonly opsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly clientCpuUs: number
  readonly server: ServerUsage
}

/** Combines the reports of the client processes of one run. */
export function sampleOf(reports: readonly RunReport[], before: ServerUsage, after: ServerUsage): Sample {
  const calls = reports.reduce((sum, report) => sum + report.calls, 0)
  const times = Float32Array.from(reports.flatMap((report) => [...report.times])).toSorted()
  return {
    opsPerSecond: reports.reduce((sum, report) => sum + report.calls / report.seconds, 0),
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    maxMs: times.at(-1) ?? 0,
    clientCpuUs: reports.reduce((sum, report) => sum + report.clientCpu, 0) / calls,
    server: usagePerCall(before, after, calls),
  }
}
