export {
  createReferenceDriver,
  type ReferenceDriver,
  type ReferenceShard,
  type ShardState,
} from './reference-driver.ts'
export { createReferenceReplica, type ReferenceReplica } from './reference-replica.ts'
export { withSnapshots } from './reference-snapshot.ts'
export type { ReferenceRow } from './reference-entities.ts'
export type { ReferenceIndex } from './reference-index.ts'
