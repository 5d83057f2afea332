import type { CallOptions } from './call.ts'
import type { EntityTable } from './entity-table.ts'
import type { IndexTable, IndexTableSpec } from './index-table.ts'

/**
 * Largest number of snapshots of one server that a process holds at once. A driver has connections for so many beside those of its pool,
 * so that a call that holds a snapshot never keeps another statement from a connection.
 */
export const MAX_SNAPSHOTS = 8

export interface SnapshotOptions extends CallOptions {
  /** Milliseconds until the connection is given back, even if the snapshot is not closed. Later reads reject with `DEADLINE`. */
  readonly maxMs: number
}

/**
 * Reads of one shard at one snapshot: each sees exactly the commits that were visible when the snapshot was opened. Reads go one after
 * the other, over a connection of their own. A failed statement ends the snapshot.
 */
export interface ShardSnapshot {
  index(
    spec: IndexTableSpec,
  ): Pick<IndexTable, 'scan' | 'scanMany' | 'scanEntities' | 'scanVersions' | 'count' | 'countMany'>
  readonly entities: Pick<EntityTable, 'read' | 'readBounded' | 'readVersions'>
  /** Gives the connection back after the reads that were begun. Never rejects. Later reads reject with `CLOSED`. */
  close(): Promise<void>
}
