/*
 * Exports for sibling packages. Programs use the main entry: a minor release may change or remove any name here.
 */
export type { Phase } from './clean/part.ts'
export { drainPending } from './drain/drain-pending.ts'
export type { Throttled, ThrottleReason } from './pass/waits.ts'
export type { LastRun, PartReport, RunUnderWay } from './report/index-report.ts'
export type { PendingReport, ShardReport } from './report/shard-report.ts'
export type { CleanerSummary, RoundError } from './report/summary.ts'
export { wentBackText } from './tampering/went-back.ts'
export { sweepEntities, sweepIndex } from './sweep/sweep.ts'
