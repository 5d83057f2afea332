import { formatId, type Entity, type EntityId } from '@looseleaf/core'
import type { EntityRow } from '@looseleaf/core/internal'
import {
  decodeRow,
  isPending,
  toEntity,
  type EngineContext,
  type ReadEntity,
} from '@looseleaf/index-engine/internal'

/** The latest state of an entity after one or more writes. */
export interface ChangedEntity {
  readonly id: EntityId
  /** Grows with every write of the entity. Store it with the effect of a change, and ignore changes with a lower one. */
  readonly version: number
  /** Time of the write, by the clock of the database. */
  readonly updated: Date
  /** Undefined if the entity was deleted. */
  readonly entity: Entity | undefined
  /** 1 when this version is first handed over; one more after each failure. */
  readonly attempt: number
}

/**
 * Decodes a row into a change. Returns a promise only if codec entries have to be loaded. Throws, or rejects, if the body is damaged or
 * not known to the codec.
 */
export function changedEntity(
  context: EngineContext,
  row: EntityRow,
  shard: string,
  attempt: number,
): ChangedEntity | Promise<ChangedEntity> {
  const change = (read: ReadEntity | undefined): ChangedEntity => ({
    id: formatId(row.id),
    version: row.version,
    updated: new Date(row.updated / 1000),
    entity: read && toEntity(read),
    attempt,
  })
  const read = decodeRow(context, row, shard)
  return isPending(read) ? read.then(change) : change(read)
}
