import type { Bag } from '@looseleaf/core'
import type { EntityRow, Key } from '@looseleaf/core/internal'
import { isPending } from '@looseleaf/index-engine/internal'
import type { EntityReader } from '../reading/entities/entity-reader.ts'
import type { CurrentEntity } from './decisions.ts'

/** A decision, and the state that it was made on. */
export interface Decided {
  readonly found: CurrentEntity
  /** Keys of the state for each index, in the order of the catalog; undefined if there is no bag. */
  readonly oldKeys: readonly (readonly Key[])[] | undefined
  /** As `Decide` returns it. */
  readonly bag: Bag | null | undefined
}

/**
 * Decides on a state from memory. Returns undefined if the entity has to be read: no error and no "nothing to write" may rest on a state that
 * no swap compares. The decision may then be made twice.
 */
export function decideKnown(
  reader: Pick<EntityReader, 'decode'>,
  { id, version, body }: Pick<EntityRow, 'id' | 'version' | 'body'>,
  shard: string,
  decideFor: (found: CurrentEntity) => Decided,
): Decided | undefined {
  try {
    const bag = reader.decode({ id, version, body, updated: 0 }, shard)
    if (isPending(bag)) {
      bag.catch(() => {})
      return undefined
    }
    const decided = decideFor({ version, bag, damaged: undefined, body })
    return decided.bag === undefined ? undefined : decided
  } catch {
    return undefined
  }
}
