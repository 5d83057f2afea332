/*
 * Exports for sibling packages. Programs use the main entry: a minor release may change or remove any name here.
 */
export type { TrainedDictionary, TrainOptions } from './catalog/train-dictionary.ts'
export { brokenText, lookAtBodies, type BodiesLook, type BrokenDefinition } from './opening/look-at-bodies.ts'
export { repairVersion } from './writing/repair-version.ts'
export type { CallFailures } from './failures/call-tally.ts'
export type { FailureReport } from './failures/failure-note.ts'
export { probeShards, type ShardProbe } from './failures/probe-shards.ts'
export { readFailures, type ReadFailuresOptions } from './failures/read-failures.ts'
export { readReplicas, type ReplicaReport } from './reading/inspection/replica-report.ts'
export type { ReplicaStats } from './reading/freshness/replica-reads.ts'
export {
  inspectEntity,
  type InspectedEntity,
  type InspectedRow,
  type StoredEntity,
} from './reading/inspection/inspect-entity.ts'
export {
  inspectIndexRows,
  type IndexRowsToInspect,
  type InspectedIndexRow,
  type InspectedIndexRows,
} from './reading/inspection/inspect-index.ts'
export type { InspectedValue } from './reading/inspection/inspected-keys.ts'
