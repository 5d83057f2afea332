import { isLooseleafError } from '@looseleaf/core'
import { isUndecodable, isVersion } from '@looseleaf/core/internal'
import { isPending, type Placement } from '@looseleaf/index-engine/internal'
import type { CommitOutcome, RowFailure } from '@looseleaf/protocol/internal'
import type { EntityReader } from '../reading/entities/entity-reader.ts'
import type { CurrentEntity } from './decisions.ts'
import type { IndexRowWriter } from './index-row-writer.ts'
import { NONE, type RowChange } from './row-change.ts'
import type { WritePolicy } from './write-policy.ts'

/** The state of an id without an entity or a tombstone. */
export const NOTHING: CurrentEntity = { version: 0, bag: undefined, damaged: undefined, body: null }

/** Reads the state that an attempt replaces. `shard` is for errors. */
export async function findEntity(
  reader: EntityReader,
  id: Uint8Array,
  shard: string,
  signal: AbortSignal | undefined,
): Promise<CurrentEntity> {
  const row = await reader.row(id, { signal })
  if (row === undefined) return NOTHING
  const { version, body } = row
  try {
    const decoded = reader.decode(row, shard)
    const bag = isPending(decoded) ? await decoded : decoded
    return { version, bag, damaged: undefined, body }
  } catch (error) {
    // A damaged entity can be replaced, because its version is known.
    if (!isUndecodable(error) || !isVersion(version)) throw error
    return { version, bag: undefined, damaged: error, body }
  }
}

/**
 * Tells whether an error is that of a key which another entity holds, and one of the states that led to the key is not stored any more. From the
 * present states the attempt may want another key, so it begins again.
 */
export async function isOfReplaced(
  thrown: unknown,
  reader: EntityReader,
  items: readonly { readonly id: Uint8Array }[],
  states: readonly CurrentEntity[],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (!isLooseleafError(thrown, 'DUPLICATE_KEY')) return false
  const changes = await Promise.all(
    states.map(async (found, place) => {
      // No key was derived from an entity that was not there, and most of these have fresh ids.
      if (found === NOTHING) return false
      const row = await reader.row(items[place]!.id, { signal })
      return row?.version !== found.version
    }),
  )
  return changes.includes(true)
}

/** The steps of an attempt that write index rows. */
export interface RowSteps {
  /** Upserts rows before the commit (law 1), and returns the failures. */
  early(
    placement: Placement,
    rows: RowChange,
    id: Uint8Array,
    version: number,
    base: number,
    signal: AbortSignal | undefined,
  ): readonly RowFailure[] | Promise<readonly RowFailure[]>
  /** Upserts rows after the commit, in the order of FriendFeed's article. Returns false if the cleaner has to write some. */
  late(
    placement: Placement,
    rows: RowChange,
    id: Uint8Array,
    version: number,
    signal: AbortSignal | undefined,
  ): Promise<boolean>
}

export function createRowSteps(
  indexRows: Pick<IndexRowWriter, 'upsert'>,
  { writeOrder }: Pick<WritePolicy, 'writeOrder'>,
): RowSteps {
  return {
    // Not async, because one more promise per write is measurable.
    early(placement, { gained, mayReturn }, id, version, base, signal) {
      const isEarly = gained.length > 0 && writeOrder !== 'entity-first'
      const upserted = isEarly ? indexRows.upsert(placement, gained, id, version, signal) : NONE
      if (mayReturn.length === 0) return upserted
      return Promise.resolve(upserted).then(async (failures) => [
        ...failures,
        ...(await indexRows.upsert(placement, mayReturn, id, base, signal)),
      ])
    },
    async late(placement, { gained }, id, version, signal) {
      const failures = await indexRows.upsert(placement, gained, id, version, signal)
      return failures.length === 0
    },
  }
}

/** Returns the outcome of a commit with local claims. If another entity has one of them, nothing was written, and `otherwise` is called. */
export async function unlessTaken(
  sending: Promise<CommitOutcome>,
  otherwise: () => Promise<CommitOutcome>,
): Promise<CommitOutcome> {
  try {
    return await sending
  } catch (error) {
    // The claim may be left over, so `otherwise` looks at its holder.
    if (isLooseleafError(error, 'DUPLICATE_KEY')) return otherwise()
    throw error
  }
}
