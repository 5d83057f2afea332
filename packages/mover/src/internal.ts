/*
 * Exports for sibling packages. Programs use the main entry: a minor release may change or remove any name here.
 */
export { moveBuckets, resumeMoves, undoMove } from './move-buckets.ts'
export { createMoveLine } from './move-line.ts'
export { emptySources } from './work-on-move.ts'
export { openMoves } from './open-moves.ts'
export { moveTask } from './move-lease.ts'
export { moveOptionKinds } from './move-options.ts'
export { movesOf, listMovesOptionKinds } from './move-report.ts'
export { planMoves } from './plan-moves.ts'
export { sizesOn, totalOf, type BucketSize } from './plan/bucket-sizes.ts'
export { refusalOfWrite, refusalsOfWrites } from './plan/target-checks.ts'
export { drainShard, rebalanceShards, stopDraining } from './walk-plans.ts'
export type { Tuned } from './tuning.ts'
