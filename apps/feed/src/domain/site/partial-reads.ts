import { isLooseleafError, type Entities, type EntityId, type Item, type Trace } from 'looseleaf'

/**
 * Options of the reads of pages. Data on shards that do not answer is left out, and the trace of the request knows these shards. Commands
 * read without it, because a write that does not see an entity would be wrong.
 */
export const SKIP = { onUnavailable: 'skip' } as const

/** Thrown if the thing that was asked for is on a shard that does not answer, so that nothing is known about it. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
  /** The thing, such as `entry`. */
  readonly thing: string

  constructor(thing: string) {
    super(`The ${thing} could not be read, because its shard does not answer.`)
    this.thing = thing
  }
}

/** Tells whether an error means that a shard does not answer now, so that the same work may succeed later. */
export function isOutage(error: unknown): error is Error {
  return error instanceof Unreadable || (isLooseleafError(error) && error.retryable)
}

/**
 * Reads the entity that a page is about; undefined if there is none. Rejects with `Unreadable` if its shard does not answer. Unlike `get`
 * it then waits for a moment only.
 */
export async function readThing<In, Out>(
  kind: Entities<In, Out>,
  id: EntityId,
  thing: string,
): Promise<Item<Out> | undefined> {
  const { items, unread } = await kind.getMany([id], SKIP)
  if (unread.length > 0) throw new Unreadable(thing)
  return items[0]
}

/** Tells whether the entity exists; undefined if its shard does not answer. */
export async function isThere<In, Out>(kind: Entities<In, Out>, id: EntityId): Promise<boolean | undefined> {
  const { items, unread } = await kind.getMany([id], SKIP)
  return unread.length > 0 ? undefined : items[0] !== undefined
}

/** Returns the names of the shards whose data the reads of a request have left out so far. */
export function missingShards(trace: Trace | undefined): readonly string[] {
  const names = trace?.events.flatMap((event) => (event.kind === 'skipped' ? [event.shard] : [])) ?? []
  return [...new Set(names)]
}
