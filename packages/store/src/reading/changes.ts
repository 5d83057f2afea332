import {
  formatId,
  guarded,
  isLooseleafError,
  type CallOptions,
  type Entity,
  type EntityId,
  type LooseleafError,
  type UpdatedPlace,
} from '@looseleaf/core'
import { longestBody, toEntity, wholeRows, type EngineContext, type OnDamaged } from '@looseleaf/index-engine'
import { shardAt } from '@looseleaf/protocol'
import { changeCursor, placesOf } from './change-cursor.ts'
import { damagedTeller } from './damaged-teller.ts'
import type { EntityReader } from './entity-reader.ts'

export interface ChangesOptions extends CallOptions {
  /**
   * Where to begin: with every entity of the store, with what changes from now on, or behind a change, by its `cursor`.
   * `now` needs every shard. Default: `now`.
   */
  readonly from?: 'beginning' | 'now' | (string & {}) | undefined
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
type Found = Omit<EntityChange, 'cursor'> & { readonly shard: number; readonly place: UpdatedPlace }

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
const MAX_PAUSE_MS = 5_000
const PAGE = 500
const BEGINNING: UpdatedPlace = { updated: 0, addedId: 0 }

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
      ? await Promise.all(shards.map(({ entities }) => entities.raiseFloor({ signal }).then(placeAt)))
      : from === 'beginning'
        ? shards.map(() => BEGINNING)
        : placesOf(from, storeId, shards.length)
  const following = { context, reader, options, pollMs, signal, checkOpen }
  const streams = places.map((place, shard) => follow(following, shard, place))
  const runs = new Map(streams.map((stream, shard) => [shard, stream.next()]))
  try {
    for (;;) {
      const { value: run = [] } = await Promise.race(runs.values())
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
      if (taken !== undefined) runs.set(taken, (streams[taken] as (typeof streams)[number]).next())
    }
  } finally {
    ended.abort()
    await Promise.allSettled(runs.values())
  }
}

/** The changes of one shard, in runs of some MiB, none of which is empty; without an end. */
async function* follow(
  { context, reader, options, pollMs, signal, checkOpen }: Following,
  shard: number,
  from: UpdatedPlace,
): AsyncGenerator<readonly Found[], void, undefined> {
  const { name, entities } = shardAt(context, shard)
  const tellDamaged = damagedTeller(options.onDamaged)
  let place = from
  for (let pause = pollMs; ;) {
    checkOpen()
    try {
      const until = await floorOf(context, shard, place, pollMs, signal)
      // A failover has lost what was behind it, and times that were read before are given once more.
      if (until < place.updated) place = placeAt(until)
      const page = await entities.pageOfChanges({ after: place, until }, PAGE, {
        signal,
        maxBody: longestBody(PAGE),
      })
      const placesById = new Map(page.map((row) => [row.addedId, row]))
      for await (const rows of wholeRows(entities, page, { signal })) {
        const run = rows.flatMap((row): Found[] => {
          const { updated, addedId } = placesById.get(row.addedId) ?? row
          const { id, version, body } = row
          const read = body === null ? undefined : reader.entity(row, name, { tellDamaged })
          if (body !== null && read === undefined) return []
          const change = { id: formatId(id), version, updated: new Date(row.updated / 1000) }
          return [{ ...change, entity: read && toEntity(read), shard, place: { updated, addedId } }]
        })
        if (run.length > 0) yield run
      }
      const last = page.at(-1)
      place = last ?? place
      pause = pollMs
      if (page.length === PAGE) continue
    } catch (error) {
      if (!isLooseleafError(error) || !error.retryable || signal.aborted) throw error
      guarded(
        () => options.onRetry?.(error),
        () => {},
      )
      pause = Math.min(2 * pause, MAX_PAUSE_MS)
    }
    await context.time.sleep(pause, signal)
  }
}

/** A floor of the shard that no crash undoes, raised where it is old. Below the place only where a failover has lost commits. */
export async function floorOf(
  context: EngineContext,
  shard: number,
  place: UpdatedPlace,
  pollMs: number,
  signal: AbortSignal,
): Promise<number> {
  const at = shardAt(context, shard)
  const { floor, now } = await at.entities.floor({ signal })
  if (floor < place.updated) return floor
  // One that is ahead of the clock says nothing of its age.
  if (now < floor || now - floor >= pollMs * 1000) return at.entities.raiseFloor({ signal })
  if (floor === place.updated) return floor
  // Raised by another process, whose commit may not be on disk, nor may what is below it.
  await at.flush({ signal })
  return Math.min(floor, (await at.entities.floor({ signal })).floor)
}

/** Before all rows of this time. */
export function placeAt(updated: number): UpdatedPlace {
  return { updated, addedId: 0 }
}
