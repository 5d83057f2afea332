export type { Act, ActsOptions } from './acts/acts.ts'
export { createConsole, type Console, type ConsoleOptions } from './console.ts'
export type { FaultsOptions } from './faults/faults.ts'
export { createRowCounts, type RowCount, type RowCounts } from './faults/row-counts.ts'
export {
  createLatencies,
  LATENCY_SECONDS,
  type Latencies,
  type Latency,
  type LatencyOfSecond,
} from './live/latencies.ts'
export type { LiveOptions } from './live/live.ts'
export type { MayShow } from './showing.ts'
export type { Link } from './page.ts'
