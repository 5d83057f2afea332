import {
  elapsedBy,
  formatId,
  isLooseleafError,
  parseId,
  type EntityRow,
  type FloorState,
  type UpdatedPlace,
} from '@looseleaf/core'
import { longestBody, wholeRows, type EngineContext } from '@looseleaf/index-engine'
import {
  lastingPage,
  openedTo,
  PARTITIONS,
  placeAt,
  readableFloor,
  requireUnpurged,
  shardAt,
  type ReadableFloor,
} from '@looseleaf/protocol'
import { lagOf } from '../records/lag.ts'
import type { HeldPartition, PartitionLeases } from './partition-leases.ts'
import type { Replays } from './replays.ts'
import type { RetryPlaces } from './retry-places.ts'
import { createEmptyStretch } from './empty-stretch.ts'
import { createRetryTurns } from './retry-turns.ts'
import { MAX_FAILING, type RowHandler } from './row-handler.ts'

/** One consumer's work on one shard, in this process. */
export interface ShardConsumer {
  /** Bounded work; answers how long to wait for the next round, in milliseconds. */
  round(): Promise<number>
  /** Resolves when no handler is at work any more. To be asked when no round is under way. */
  settled(): Promise<void>
  /** As `lagMs` of `ShardConsumerStatus`. */
  readonly lagMs: number | undefined
}

export interface ShardConsumerOptions {
  readonly shard: number
  readonly leases: PartitionLeases
  readonly handler: RowHandler
  readonly replays: Replays
  readonly retryPlaces: RetryPlaces
  readonly pollMs: number
  readonly leaseMs: number
  readonly signal: AbortSignal
  readonly onError: (error: unknown) => void
}

/** Changes that are read at once; as few as this where handlers are slow. */
const PAGE = 500
const LEAST_PAGE = 16
/** For so long a page begins handlers, so that what is saved and who shares the work is looked after while they are slow. */
const PAGE_MS = 1_000
/** Handlers that take longer than this hold up their own partition alone. */
const PATIENCE_MS = 3_000
/** Time between two saves while there is work: what a crash brings again. */
const SAVE_MS = 1_000
/** As often, at the least, it is seen what other processes have given up. */
const REFRESH_MS = 2_000
/** New changes wait for retries no longer than this: of a partition where one takes longer they wait until it has ended. */
const RETRY_MS = 100

/** A purge cannot reach a place that is younger: tombstones are kept for an hour at the least. */
const OLD_MICROS = 1_800_000_000

export function createShardConsumer(context: EngineContext, options: ShardConsumerOptions): ShardConsumer {
  const { shard, leases, handler, replays, retryPlaces, pollMs, leaseMs, signal, onError } = options
  const elapsed = elapsedBy(context.time)
  const at = (): ReturnType<typeof shardAt> => shardAt(context, shard)
  const refreshMs = Math.min(REFRESH_MS, leaseMs / 3)
  let refreshAt = -Infinity
  let savedAt = -Infinity
  /** The floor and the database's time when they were read last, in µs, and this process's time then, in milliseconds. */
  let clock: { readonly floor: number; readonly now: number; readonly at: number } | undefined
  let hasNews = false
  let pageLimit = PAGE
  const turns = createRetryTurns(handler.due)
  /** Grows when a failover sets places back. Handlers that began before that may not move a place: their times may be given again. */
  let fallenBack = 0
  const empty = createEmptyStretch()

  /** Partitions that are worked on, by number: until then nothing else of them is begun, and they are not given up. */
  const busy = new Map<number, Promise<unknown>>()

  /** Waits for work, for so long at the most, and keeps the leases meanwhile. */
  async function prolonged(work: Promise<unknown>, forMs = Infinity): Promise<void> {
    const over = new AbortController()
    const end = (): void => over.abort()
    void work.then(end, end)
    if (Number.isFinite(forMs)) void context.time.sleep(forMs, over.signal).then(end, () => {})
    while (!over.signal.aborted) {
      await context.time.sleep(leaseMs / 3, over.signal).catch(() => {})
      // A shard that does not answer: the next handler finds that the leases are not sure any more.
      if (!over.signal.aborted)
        await leases.save({}).catch((error: unknown) => isLooseleafError(error, 'CLOSED') && end())
    }
  }

  /** Hands over rows of a partition, and tells of each in their order, up to the first that has to come again. Answers whether there was none. */
  async function handOver<Row extends EntityRow>(
    partition: HeldPartition,
    rows: readonly Row[],
    beginBy: number,
    onDone: (row: Row) => void,
    kind: 'new' | 'retry',
  ): Promise<boolean> {
    const outcomes = rows.map((row) => handler.handle(partition, row, beginBy, kind))
    // All are waited for: nothing of the partition is on its way then.
    const all = Promise.allSettled(outcomes)
    let isWhole = true
    try {
      for (const [i, outcome] of outcomes.entries()) {
        isWhole = await outcome
        if (!isWhole) break
        onDone(rows[i] as Row)
      }
    } finally {
      await all
    }
    return isWhole
  }

  /** Has a partition busy with this, until the answer resolves. */
  function occupy(number: number, work: () => Promise<unknown>): Promise<unknown> {
    // What has gone wrong is told, and the rows come again.
    const own = work().catch(onError)
    busy.set(number, own)
    void own.then(() => void (busy.get(number) === own && busy.delete(number)))
    return own
  }

  const idle = (): readonly HeldPartition[] => leases.held.filter(({ number }) => !busy.has(number))

  /** Waits until what was begun has ended, or has lasted so long that the others go on without it. */
  async function attend(begun: readonly Promise<unknown>[], forMs: number): Promise<void> {
    if (begun.length > 0) await prolonged(Promise.all(begun), forMs)
  }

  /** Up to which time changes may be read. */
  async function look(): Promise<ReadableFloor> {
    const asked = elapsed()
    // Compared with the newest place: once the floor was raised again, only a place that is still ahead of it shows that it fell.
    const found = await readableFloor(at(), newestOf(leases.held.map(empty.seen)), pollMs, signal)
    const { floor, now } = found
    refuseGap(leases.held, found)
    clock = { floor, now, at: asked }
    empty.floorIs(floor)
    for (const partition of leases.held) {
      partition.since = Math.min(partition.since, floor)
      if (floor >= partition.place.updated) continue
      // A failover has lost what was behind it, and times that were read before are given once more.
      partition.place = placeAt(floor)
      fallenBack++
    }
    return found
  }

  function movePlace(partition: HeldPartition, place: UpdatedPlace): void {
    if (comparePlaces(place, partition.place) <= 0) return
    partition.place = { updated: place.updated, addedId: place.addedId }
    hasNews = true
  }

  /** Throws where one of these partitions has missed deletions. A purge waits for consumers, but not for ever. */
  function refuseGap(partitions: readonly HeldPartition[], state: Pick<FloorState, 'purged'>): void {
    for (const { place, since } of partitions) requireUnpurged(at(), state, { ...place, since })
  }

  /** Hands over the next changes of these partitions; answers whether there may be more. */
  async function nextPage(partitions: readonly HeldPartition[], upTo: ReadableFloor): Promise<boolean> {
    const { entities } = at()
    const { floor: until } = upTo
    const before = fallenBack
    const byNumber = new Map(partitions.map((partition) => [partition.number, partition]))
    const partitionOf = ({ addedId }: UpdatedPlace): HeldPartition =>
      byNumber.get(addedId % PARTITIONS) as HeldPartition
    const opened = openedTo(at())
    const page = await lastingPage(
      at(),
      {
        after: oldestOf(partitions.map(({ place }) => place)),
        until,
        of: { count: PARTITIONS, some: [...byNumber.keys()] },
      },
      pageLimit,
      { signal, maxBody: longestBody(pageLimit) },
    )
    // A purge may have overtaken a consumer that was away for so long, and before the page was read.
    const oldest = oldestOf(partitions.map(({ place }) => place))
    const sinceLook = clock && clock.now + 1_000 * (elapsed() - clock.at)
    if (sinceLook !== undefined && sinceLook - oldest.updated > OLD_MICROS)
      refuseGap(partitions, await entities.floor({ signal }))
    if (page.length === 0) {
      const proven = empty.found(partitions, upTo, opened)
      for (const partition of proven?.of ?? []) movePlace(partition, proven!.end)
      pageLimit = Math.min(PAGE, 2 * pageLimit)
      return false
    }
    const rows = page.filter((row) => comparePlaces(row, partitionOf(row).place) > 0)
    const versions = new Map(rows.map(({ addedId, version }) => [addedId, version]))
    const isLast = page.length < pageLimit
    const end = isLast ? placeAt(until) : (page.at(-1) as UpdatedPlace)
    /** Those of which not all was handed over so far. */
    const cut = new Set<HeldPartition>()
    const beginBy = elapsed() + PAGE_MS
    let handled = 0
    const done = (partition: HeldPartition, place: UpdatedPlace): void => {
      // What a handler was at meanwhile may be of times that are given once more.
      if (fallenBack === before) movePlace(partition, place)
    }
    for await (const run of wholeRows(entities, context.codec, rows, { signal })) {
      const begun: Promise<unknown>[] = []
      for (const [partition, own] of Map.groupBy(run, partitionOf)) {
        const isCut = elapsed() > beginBy || cut.has(partition)
        cut.add(partition)
        if (isCut) continue
        const work = async (): Promise<void> => {
          const replaced = own.findIndex(({ addedId, version }) => version !== versions.get(addedId))
          // A crash may undo the replacement of this entity, so the next page of the partition begins in front of it.
          const same = replaced === -1 ? own : own.slice(0, replaced)
          const onDone = (row: UpdatedPlace): void => {
            handled++
            done(partition, row)
          }
          const isWhole = await handOver(partition, same, beginBy, onDone, 'new')
          if (isWhole && replaced === -1) cut.delete(partition)
        }
        begun.push(occupy(partition.number, work))
      }
      await attend(begun, beginBy - elapsed() + PATIENCE_MS)
      if (signal.aborted) break
    }
    for (const partition of partitions) if (!cut.has(partition) && !signal.aborted) done(partition, end)
    // As many as it can begin: what is not begun has been read in vain.
    pageLimit = Math.min(PAGE, cut.size > 0 ? Math.max(LEAST_PAGE, 2 * handled) : 2 * pageLimit)
    return (!isLast || cut.size > 0) && (rows.length === 0 || handled > 0)
  }

  /** Hands over failing changes again that have waited long enough, as their entities are now. */
  async function retry(): Promise<boolean> {
    const due = turns.next(idle(), retryPlaces.free)
    if (due.size === 0) return false
    const rows = await readDue(due)
    const sure = [...rows.values()].filter((row) => row !== 'later')
    const beginBy = elapsed() + PAGE_MS
    const byPartition = Map.groupBy(sure, (row) => due.get(formatId(row.id)) as HeldPartition)
    const begun = Array.from(byPartition, ([partition, own]) => {
      const onDone = (): void => {
        turns.tried(partition)
        hasNews = true
      }
      return occupy(partition.number, () => handOver(partition, own, beginBy, onDone, 'retry'))
    })
    await attend(begun, RETRY_MS)
    hasNews = true
    return true
  }

  /** The rows of these entities, by id. `later`: what is there now may be undone by a crash. */
  async function readDue(due: ReadonlyMap<string, HeldPartition>): Promise<Map<string, EntityRow | 'later'>> {
    const ids = [...due.keys()].map(parseId)
    const read = async (): Promise<Map<string, EntityRow>> => {
      const found = new Map<string, EntityRow>()
      const bounded = await at().entities.readBounded(ids, longestBody(ids.length), { signal })
      const there = bounded.filter((row) => row !== undefined)
      for await (const run of wholeRows(at().entities, context.codec, there, { signal }))
        for (const row of run) found.set(formatId(row.id), row)
      return found
    }
    const rows = await read()
    const missing = [...due].filter(([id]) => !rows.has(id))
    // A tombstone was purged while the change failed: the deletion is handed over still, as of the version that stands for it now.
    const purged = missing.length === 0 ? 0 : (await at().entities.floor({ signal })).purged.version - 1
    for (const [id, { failing, place }] of missing) {
      const version = Math.max(purged, failing.get(id)?.version ?? 0)
      rows.set(id, { id: parseId(id), version, updated: place.updated - 1, body: null })
    }
    const isBelow = ([id, { updated }]: [string, EntityRow]): boolean => updated < due.get(id)!.place.updated
    if ([...rows].every(isBelow)) return rows
    // Written since: at its place it comes by itself, but a partition that waits for its failing changes does not get there.
    await at().flush({ signal })
    const again = await read()
    return new Map([...again].map(([id, row]) => [id, rows.get(id)?.version === row.version ? row : 'later']))
  }

  /** Dead letters that somebody wants handled again become failing changes. */
  async function takeReplays(): Promise<void> {
    const wanted = await replays.wanted(idle(), { signal })
    const begun = Array.from(wanted, ([partition, letters]) =>
      occupy(partition.number, () => replays.take(partition, letters, { signal })),
    )
    await attend(begun, PATIENCE_MS)
  }

  async function saveIfDue(): Promise<void> {
    const everyMs = hasNews ? Math.min(SAVE_MS, leaseMs / 3) : leaseMs / 3
    if (leases.held.length === 0 || elapsed() - savedAt < everyMs) return
    savedAt = elapsed()
    hasNews = false
    await leases.save({ signal })
  }

  return {
    get lagMs() {
      if (leases.held.length === 0 || clock === undefined) return 0
      const { floor, now, at: readAt } = clock
      const { updated } = oldestOf(leases.held.map(empty.seen))
      // Everything up to the floor was handled: as of that look, wherever the clock was.
      const lagMs = updated >= floor && floor > now ? 0 : lagOf(updated, now)
      return lagMs === undefined ? undefined : Math.max(0, lagMs + elapsed() - readAt)
    },
    async settled() {
      const all = Promise.all(busy.values())
      // Without the leases as well, where the store is closed.
      await prolonged(all)
      await all
    },
    async round() {
      if (elapsed() >= refreshAt) {
        await leases.refresh(new Set(busy.keys()), { signal })
        refreshAt = elapsed() + refreshMs
        await takeReplays().catch(onError)
      }
      const retried = await retry()
      if (retried) await saveIfDue()
      const upTo = leases.held.length > 0 ? await look() : undefined
      turns.passed(idle())
      const open = idle().filter(({ failing }) => failing.size < MAX_FAILING)
      const more = upTo !== undefined && open.length > 0 && (await nextPage(open, upTo))
      await saveIfDue()
      if (more || retried) return 0
      return leases.held.length === 0 ? Math.min(refreshMs, SAVE_MS) : pollMs
    },
  }
}

function comparePlaces(a: UpdatedPlace, b: UpdatedPlace): number {
  return a.updated - b.updated || a.addedId - b.addedId
}

/** The place that no other is beyond. */
function newestOf(places: readonly UpdatedPlace[]): UpdatedPlace {
  return places.reduce<UpdatedPlace>(
    (newest, place) => (comparePlaces(place, newest) > 0 ? place : newest),
    placeAt(0),
  )
}

/** The place that no other is behind. */
function oldestOf(places: readonly UpdatedPlace[]): UpdatedPlace {
  return places.reduce<UpdatedPlace>((oldest, place) => (comparePlaces(place, oldest) < 0 ? place : oldest), {
    updated: Infinity,
    addedId: 0,
  })
}
