/*
 * Exports for sibling packages. Programs use the main entry: a minor release may change or remove any name here.
 */
export { checkStore, type AnyStore } from './check-store.ts'
export type { TakeKey } from './claims.ts'
export { commit, commitAll, type Commit, type CommitOutcome, type EntityWrites } from './commit.ts'
export {
  consumersOn,
  consumerPlaces,
  letterTask,
  partitionNumbers,
  PARTITIONS,
  partitionTask,
  readProgress,
  type ConsumerProgress,
  type LetterList,
} from './consumers/consumer-progress.ts'
export { copyRegistrations } from './consumers/copy-registrations.ts'
export {
  joinedRegistry,
  latestRegistration,
  readRegistries,
  readRegistry,
  registrationIn,
  REGISTRY_TASK,
  registryFromText,
  registryToText,
  type Registration,
  type Registry,
} from './consumers/registrations.ts'
export { deleteLost, isYoung, judgeDangling, upTo, type Judged } from './delete-late.ts'
export { editWhenFree } from './edit-when-free.ts'
export { followChanges } from './follow-changes/follow-changes.ts'
export {
  createMovedRows,
  type FollowerProgress,
  type MovedRows,
  type Turn,
} from './follow-changes/moved-rows.ts'
export { isFloorOld, placeAt, readableFloor, type ReadableFloor } from './floor.ts'
export type { PlacedKey, RowFailure, RowLanesOf } from './index-rows.ts'
export { forEachShard } from './joined-shards.ts'
export { lastingPage } from './lasting-page.ts'
export { waitsFromText, waitsTask, type NotedWaits } from './moves/noted-waits.ts'
export { isLocal, localRows, splitRows } from './local-rows.ts'
export { createBucketWait, type WaitForBucket } from './moves/until-writable.ts'
export { movedEntities, movedOrUndone, type VersionsOptions } from './on-disk.ts'
export { beforeAsking } from './owners/before-asking.ts'
export { createAge, createCarefulAge } from './age.ts'
export { catalogAfter } from './owners/catalog-after.ts'
export { noOwner } from './owners/no-owner.ts'
export { isMoving, isQuiet } from './owners/quiet-shards.ts'
export { LOOK_MS, looksOf, type Looks } from './owners/shard-looks.ts'
export { readAtOwners } from './owners/read-at-owners.ts'
export {
  allBuckets,
  placeBefore,
  walkOwned,
  walkUnread,
  watchOwned,
  type OwnedWatch,
} from './owners/walk-owned.ts'
export { openedTo } from './opened-connections.ts'
export { placeOnRemoved } from './follow-changes/removed-place.ts'
export { catchUp, requireUnpurged, type FollowedPlace } from './purged.ts'
export {
  lookAtMarks,
  MARK_TASK,
  markFromText,
  markToText,
  noteTask,
  rewindOf,
  rewindText,
  type MarkLook,
  type ShardMark,
  type Rewind,
} from './shard-marks.ts'
export { pagesOfRows, rowText, type IndexPlace } from './row-pages.ts'
export { isOfRemovedShard, isOfShardLeftOut, isUnreached, leadingShard, shardAt } from './shards.ts'
export { processName } from './process-name.ts'
export { editTask, editTasks, releaseLease, underLease, untilFree } from './task-leases.ts'
export { fence } from './fence.ts'
export { deleteDelayMs, learnPolicies, mayBeLost } from './policies.ts'
export { claimEarly, writeAgain, writeEarly } from './write-early.ts'
export { createRecentRate, type RecentRate } from './throttle/recent-rate.ts'
export { createThrottle, sizeClass, type Throttle } from './throttle/throttle.ts'
export { throttleReasons, type Throttled, type ThrottleReason } from './throttle/waits.ts'
export { acceptLosses } from './moves/accept-losses.ts'
export { announceMove, announceTarget, endMove } from './moves/announce.ts'
export {
  come,
  copyTarget,
  hasComing,
  hasKept,
  leave,
  renewTarget,
  type Attempt,
  type CopyTarget,
} from './moves/attempt.ts'
export { clearTarget } from './moves/clear-target.ts'
export type { ChainedTarget } from './moves/write-copies.ts'
export { beginGroup, beginTarget, lostByTarget } from './moves/begin-target.ts'
export { compareEntities, countExtra } from './moves/compare-entities.ts'
export { copyEntities, type Copied, type CopiedPage, type CopyRange } from './moves/copy-entities.ts'
export { copyLast } from './moves/last-copy.ts'
export { copyIndexRows, type CopiedRows } from './moves/copy-rows.ts'
export { consumersBehind, emptySource } from './moves/empty.ts'
export { groupsOf, handOver, seal, unseal } from './moves/hand-over.ts'
export { checkedPlan, type PlannedMove } from './moves/checked-plan.ts'
export { completeAnnouncement, movableLayout, objectionsTo } from './moves/announce.ts'
export { announceDraining, requireDrainable, withdrawDraining } from './moves/draining.ts'
export { pagesByAdded } from './moves/entity-pages.ts'
export {
  entitiesIn,
  movableBuckets,
  UNCHECKED_WAIT_MS,
  type MoveWork,
  type StoreWork,
} from './moves/move-work.ts'
export {
  bucketsOfMove,
  isSameMove,
  loadOwn,
  loadTimed,
  ofMove,
  type OwnBuckets,
} from './moves/own-buckets.ts'
export { ownerFaults, type OwnerFault } from './moves/owner-faults.ts'
export { handedOver, takeBack, undoMove } from './moves/undo.ts'
