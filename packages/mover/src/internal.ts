/*
 * Exports for sibling packages: a minor release may change or remove any name here. Programs call `store.shards`, and the store exports the
 * types of its calls.
 */
export { moveBuckets, resumeMoves, undoMove } from './move-buckets.ts'
export { createMoveLine } from './move-line.ts'
export { emptySources } from './work-on-move.ts'
export { openMoves } from './open-moves.ts'
export { moveTask } from './move-lease.ts'
export { moveOptionKinds, type MoveOptions, type MoverStore } from './move-options.ts'
export { movesOf, listMovesOptionKinds, type ListMovesOptions, type MoveReport } from './move-report.ts'
export { planMoves } from './plan-moves.ts'
export type { MoveCommands } from './move-commands.ts'
export type { MoveCounts, MoveStep, Verification } from './move-record.ts'
export type { CountedMove, MovePlan, MoveRequest } from './plan/move-plan.ts'
export { sizesOn, totalOf, type BucketSize } from './plan/bucket-sizes.ts'
export { refusalOfWrite, refusalsOfWrites } from './plan/target-checks.ts'
export { drainShard, rebalanceShards, stopDraining } from './walk-plans.ts'
export type { MoveProgress } from './progress.ts'
export type { SealTimes } from './seal-times.ts'
export type { Tuned } from './tuning.ts'
export type { NotedWaits, PlannedMove } from '@looseleaf/protocol/internal'
