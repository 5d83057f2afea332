import { formatId, type Entity, type EntityId, type LooseleafError } from '@looseleaf/core'
import { guarded, KIND_PROPERTY, throwIfAborted, untilSignal, type EntityRow } from '@looseleaf/core/internal'
import {
  isOneOf,
  mayBeOfKinds,
  toEntity,
  type EngineContext,
  type OnDamaged,
} from '@looseleaf/index-engine/internal'
import {
  followChanges,
  forEachShard,
  placeAt,
  placeOnRemoved,
  shardAt,
  type FollowedPlace,
} from '@looseleaf/protocol/internal'
import { changeCursor, placesOf } from './change-cursor.ts'
import { damagedHandler } from '../entities/damaged-handler.ts'
import type { EntityReader } from '../entities/entity-reader.ts'

export interface ChangesOptions {
  /** Ends the loop without an error when it fires. A signal that has fired before yields nothing. */
  readonly signal?: AbortSignal | undefined
  /**
   * The beginning of the changes: `beginning` for every entity of the store, `now` for changes from the start of the loop on, or the
   * `cursor` of a change. `now` needs every shard to answer. Default: `now`. An explicit undefined is rejected, because a cursor that
   * was never stored would skip every stored entity.
   */
  readonly from?: 'beginning' | 'now' | (string & {})
  /** Milliseconds between two looks at a shard without new changes, and the largest age of its floor. At least 10. Default: 250. */
  readonly pollMs?: number | undefined
  /** Called with an error of a shard that is retried. Other shards continue. */
  readonly onRetry?: ((error: LooseleafError) => void) | undefined
  /** Handling of damaged entities. `skip` or a function leaves them out. Default: `fail`. */
  readonly onDamaged?: OnDamaged | undefined
  /**
   * Names of kinds, in `_kind`. Entities of other kinds are left out, and mostly not decoded. Deletions are given whatever the kind of the entity
   * was, because a tombstone has none. Default: all entities.
   */
  readonly kinds?: readonly string[] | undefined
}

/** The state of an entity after one or several writes. */
export interface EntityChange {
  readonly id: EntityId
  /** Grows with every write of the entity. Together with the id it identifies a change that was handled before. */
  readonly version: number
  /** Time of writing, by the database's clock. */
  readonly updated: Date
  /** Undefined if the entity was deleted. */
  readonly entity: Entity | undefined
  /** Pass it as `from` to continue after this change, in any process. */
  readonly cursor: string
}

/** A change, and the place of its shard once it was handed over. */
type Found = Omit<EntityChange, 'cursor'> & { readonly shard: number; readonly place: FollowedPlace }

type Settled = { readonly run: readonly Found[] } | { readonly error: unknown }

interface Following {
  readonly context: EngineContext
  readonly reader: EntityReader
  readonly options: ChangesOptions
  readonly pollMs: number
  readonly signal: AbortSignal
  /** Throws once the store is closed. */
  readonly checkOpen: () => void
  /** By shard number: the places after the last changes that were handed over. */
  readonly places: FollowedPlace[]
}

const DEFAULT_POLL_MS = 250
/** The place of a follower that has read nothing. */
const BEGINNING: FollowedPlace = { ...placeAt(0), since: 0 }

const begunAt = (floor: number): FollowedPlace => ({ ...placeAt(floor), since: floor })

/** Yields the changes of all shards until the signal fires or the iterator is left. */
export function changesOf(
  context: EngineContext,
  reader: EntityReader,
  options: ChangesOptions,
  checkOpen: () => void,
): AsyncGenerator<EntityChange, void, undefined> {
  return untilSignal(
    () => options.signal,
    (signal) => followAll(context, reader, { ...options, signal }, checkOpen),
  )
}

/**
 * Yields the changes of all shards, those of one shard in the order of `updated`. Reads more from a shard once its last changes were
 * taken, so that a slow consumer holds at most some MiB of each shard in memory.
 */
async function* followAll(
  context: EngineContext,
  reader: EntityReader,
  options: ChangesOptions,
  checkOpen: () => void,
): AsyncGenerator<EntityChange, void, undefined> {
  const { storeId } = context.catalog.current()
  const { from = 'now', pollMs = DEFAULT_POLL_MS } = options
  const { shards } = context.driver
  const ended = new AbortController()
  const signal = AbortSignal.any([ended.signal, ...(options.signal === undefined ? [] : [options.signal])])
  const places =
    from === 'now'
      ? await Promise.all(
          shards.map(
            async ({ entities }, shard) =>
              placeOnRemoved(context, shard, undefined) ?? begunAt(await entities.raiseFloor({ signal })),
          ),
        )
      : from === 'beginning'
        ? shards.map(() => BEGINNING)
        : await storedPlaces(context, from, signal)
  // A signal that has fired by now begins no stream, and the loop below would wait for one.
  throwIfAborted(options.signal)
  const following = { context, reader, options, pollMs, signal, checkOpen, places }
  const streams: AsyncGenerator<readonly Found[], void, undefined>[] = []
  // `Promise.race` would keep every run of the other shards in memory while one shard has no changes.
  const arrived: Settled[] = []
  let wake: (() => void) | undefined
  const begin = (shard: number): Promise<void> => {
    const settled = (outcome: Settled): void => {
      arrived.push(outcome)
      wake?.()
    }
    return streams[shard]!.next().then(
      ({ value = [] }) => settled({ run: value }),
      (error: unknown) => settled({ error }),
    )
  }
  const runs: Promise<void>[] = []
  const joining = forEachShard(context, {
    signal,
    begin(shard) {
      // A shard was empty before it joined, so its changes begin at their beginning.
      streams.push(follow(following, shard, (places[shard] ??= BEGINNING)))
      runs.push(begin(shard))
    },
  })
  try {
    for (;;) {
      if (arrived.length === 0) await new Promise<void>((resolve) => (wake = resolve))
      const next = arrived.shift() as Settled
      if ('error' in next) throw next.error
      const { run } = next
      for (const { shard, place, ...change } of run) {
        places[shard] = place
        const now = [...places]
        yield {
          ...change,
          get cursor() {
            return changeCursor(storeId, now)
          },
        }
      }
      const taken = run[0]?.shard
      if (taken !== undefined) runs[taken] = begin(taken)
    }
  } finally {
    ended.abort()
    await joining
    await Promise.all(runs)
  }
}

/**
 * Returns the places of a cursor. One with more places than this process knows shards is of a process that knew of a joined shard, so the
 * catalog is read again. If a crash has undone the joining, no process has the shard any more, and its place is left out: a shard that
 * joins later begins at its beginning. Rejects with the error of a shard that does not answer, because that one may have the joining.
 */
async function storedPlaces(
  { driver, catalog }: EngineContext,
  cursor: string,
  signal: AbortSignal,
): Promise<FollowedPlace[]> {
  const places = placesOf(cursor, catalog.current().storeId)
  if (places.length <= driver.shards.length) return places
  const {
    silent: [error],
  } = await catalog.reload({ signal })
  if (places.length > driver.shards.length && error !== undefined) throw error
  return places.slice(0, driver.shards.length)
}

/** Yields the changes of one shard without end, in runs of some MiB that are never empty. */
async function* follow(
  { context, reader, options, pollMs, signal, checkOpen, places }: Following,
  shard: number,
  from: FollowedPlace,
): AsyncGenerator<readonly Found[], void, undefined> {
  const { name } = shardAt(context, shard)
  const handleDamaged = damagedHandler(options.onDamaged)
  const onRetry = (error: LooseleafError): void =>
    void guarded(
      () => options.onRetry?.(error),
      () => {},
    )
  const kinds = options.kinds && new Set(options.kinds)
  const mayBeWanted = (row: EntityRow): boolean =>
    kinds === undefined || mayBeOfKinds(context, row, name, kinds)
  const following = followChanges(context, shard, from, {
    pollMs,
    signal,
    onRetry,
    checkOpen,
    placeOn: (other) => places[other],
  })
  for await (const { rows, place } of following) {
    const run: Found[] = []
    for (const row of rows) {
      if (!mayBeWanted(row)) continue
      const { updated, addedId, version, body } = row
      const read = body === null ? undefined : await reader.entity(row, name, { handleDamaged })
      if (body !== null && read === undefined) continue
      if (read !== undefined && kinds !== undefined && !isOneOf(read.bag[KIND_PROPERTY], kinds)) continue
      const change = { id: formatId(row.id), version, updated: new Date(updated / 1000) }
      const rowPlace = { updated, addedId, since: place.since }
      run.push({ ...change, entity: read && toEntity(read), shard, place: rowPlace })
    }
    // The last change gets the place behind the whole run, which may have ended with entities that were left out.
    if (run.length > 0) yield [...run.slice(0, -1), { ...(run.at(-1) as Found), place }]
    // Every run before this one was handed over.
    else places[shard] = place
  }
}
