/*
 * Exports for sibling packages. Programs use the main entry: a minor release may change or remove any name here.
 */
export { checkStore } from './check-store.ts'
export type { TakeKey } from './claims.ts'
export type { CommitOutcome, EntityWrites } from './commit.ts'
export {
  consumerPlaces,
  partitionNumbers,
  PARTITIONS,
  partitionTask,
  REGISTRY_TASK,
} from './consumer-places.ts'
export type { Judged, JudgeOptions } from './delete-late.ts'
export type { ChangedRun, FollowOptions } from './follow-changes.ts'
export { isFloorOld, placeAt, type ReadableFloor } from './floor.ts'
export type { PlacedKey, RowFailure, RowLanes, RowLanesOf } from './index-rows.ts'
export { lastingPage } from './lasting-page.ts'
export type { SeenEntity, VersionsOptions } from './on-disk.ts'
export { openedTo } from './opened-connections.ts'
export { requireUnpurged, type FollowedPlace } from './purged.ts'
export {
  lookAtMarks,
  MARK_TASK,
  markFromText,
  markToText,
  NOTE_TASK,
  wentBackOf,
  wentBackText,
  type MarkLook,
  type ShardMark,
  type WentBack,
} from './shard-marks.ts'
export { idsByShard, shardAt } from './shards.ts'
export { processName } from './process-name.ts'
export { editTask, editTasks, underLease, untilFree } from './task-leases.ts'
