import { formatId, type Entity, type EntityId, type EntityRow } from '@looseleaf/core'
import { decodeRow, toEntity, type EngineContext } from '@looseleaf/index-engine'

/** What became of an entity by one write of it or by several. */
export interface ChangedEntity {
  readonly id: EntityId
  /** Grows with every write of the entity: with the id it says whether an effect has been had already. */
  readonly version: number
  /** When the database wrote it. */
  readonly updated: Date
  /** Undefined when it was deleted. */
  readonly entity: Entity | undefined
  /** 1 for the first time that this version is handed over, one more after each failure. */
  readonly attempt: number
}

/** Throws what is wrong with the body. */
export function changedEntity(
  { codec }: EngineContext,
  row: EntityRow,
  shard: string,
  attempt: number,
): ChangedEntity {
  const read = decodeRow(codec, row, shard)
  return {
    id: formatId(row.id),
    version: row.version,
    updated: new Date(row.updated / 1000),
    entity: read && toEntity(read),
    attempt,
  }
}
