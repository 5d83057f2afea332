import {
  formatId,
  guarded,
  type CallOptions,
  type Entity,
  type EntityId,
  type LooseleafError,
} from '@looseleaf/core'
import { toEntity, type EngineContext, type OnDamaged } from '@looseleaf/index-engine'
import { followChanges, placeAt, shardAt, type FollowedPlace } from '@looseleaf/protocol'
import { changeCursor, placesOf } from './change-cursor.ts'
import { damagedTeller } from './damaged-teller.ts'
import type { EntityReader } from './entity-reader.ts'

export interface ChangesOptions extends CallOptions {
  /**
   * Where to begin: with every entity of the store, with what changes from now on, or behind a change, by its `cursor`.
   * `now` is when the loop begins, and needs every shard. Default: `now`. Undefined is refused: a place that was never kept would
   * leave out all that is stored.
   */
  readonly from?: 'beginning' | 'now' | (string & {})
  /** Milliseconds between two looks at a shard where nothing is new; also how old its floor may be, 10 or more. Default: 250. */
  readonly pollMs?: number | undefined
  /** Told of an error of a shard that is tried again, while the others go on. Default: nobody is. */
  readonly onRetry?: ((error: LooseleafError) => void) | undefined
  /** What becomes of the changes when an entity is damaged: with `skip` or a function it is left out. Default: `fail`. */
  readonly onDamaged?: OnDamaged | undefined
}

/** What became of an entity by one write of it or by several. */
export interface EntityChange {
  readonly id: EntityId
  /** Grows with every write of the entity: with the id it says whether an effect has been had already. */
  readonly version: number
  /** When the database wrote it. */
  readonly updated: Date
  /** Undefined when it was deleted. */
  readonly entity: Entity | undefined
  /** Changes `from` here begin behind this one, in whatever process. */
  readonly cursor: string
}

/** What is handed over, and where its shard stands then. */
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
}

const DEFAULT_POLL_MS = 250
/** A follower that has not begun. */
const BEGINNING: FollowedPlace = { ...placeAt(0), since: 0 }

const begunAt = (floor: number): FollowedPlace => ({ ...placeAt(floor), since: floor })

/**
 * The changes of all shards, those of a shard in the order of its `updated`. A shard is asked for more when what it gave was taken,
 * so that a slow consumer has some MiB of each shard in hand, whatever is written meanwhile.
 */
export async function* changesOf(
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
      ? await Promise.all(shards.map(({ entities }) => entities.raiseFloor({ signal }).then(begunAt)))
      : from === 'beginning'
        ? shards.map(() => BEGINNING)
        : placesOf(from, storeId, shards.length)
  const following = { context, reader, options, pollMs, signal, checkOpen }
  const streams = places.map((place, shard) => follow(following, shard, place))
  // Not a race of promises, which would keep every run of the others while a shard says nothing.
  const arrived: Settled[] = []
  let wake: (() => void) | undefined
  const begin = (shard: number): Promise<void> => {
    const settled = (one: Settled): void => {
      arrived.push(one)
      wake?.()
    }
    return streams[shard]!.next().then(
      ({ value = [] }) => settled({ run: value }),
      (error: unknown) => settled({ error }),
    )
  }
  const runs = streams.map((_, shard) => begin(shard))
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
    await Promise.all(runs)
  }
}

/** The changes of one shard, in runs of some MiB, none of which is empty; without an end. */
async function* follow(
  { context, reader, options, pollMs, signal, checkOpen }: Following,
  shard: number,
  from: FollowedPlace,
): AsyncGenerator<readonly Found[], void, undefined> {
  const { name } = shardAt(context, shard)
  const tellDamaged = damagedTeller(options.onDamaged)
  const onRetry = (error: LooseleafError): void =>
    void guarded(
      () => options.onRetry?.(error),
      () => {},
    )
  const following = followChanges(context, shard, from, { pollMs, signal, onRetry, checkOpen })
  for await (const { rows, place } of following) {
    const run = rows.flatMap((row): Found[] => {
      const { updated, addedId, version, body } = row
      const read = body === null ? undefined : reader.entity(row, name, { tellDamaged })
      if (body !== null && read === undefined) return []
      const change = { id: formatId(row.id), version, updated: new Date(updated / 1000) }
      return [
        { ...change, entity: read && toEntity(read), shard, place: { updated, addedId, since: place.since } },
      ]
    })
    // Behind the last of them the whole run was taken.
    if (run.length > 0) yield [...run.slice(0, -1), { ...(run.at(-1) as Found), place }]
  }
}
