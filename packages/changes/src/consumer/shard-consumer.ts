import { formatId } from '@looseleaf/core'
import { elapsedBy, type EntityRow, type FloorState, type UpdatedPlace } from '@looseleaf/core/internal'
import { longestBody, wholeRows, type EngineContext } from '@looseleaf/index-engine/internal'
import {
  lastingPage,
  openedTo,
  PARTITIONS,
  placeAt,
  readableFloor,
  requireUnpurged,
  shardAt,
  type MovedRows,
  type ReadableFloor,
} from '@looseleaf/protocol/internal'
import { lagOf } from '../records/lag.ts'
import { createBusyPartitions } from './busy-partitions.ts'
import type { HeldPartition, PartitionLeases } from './partition-leases.ts'
import type { PassedChanges } from './passed-changes.ts'
import { comparePlaces, earliestOf, latestOf } from './places.ts'
import type { Replays } from './replays.ts'
import type { RetrySlots } from './retry-slots.ts'
import { createReadDueRows } from './due-rows.ts'
import { createEmptyStretch } from './empty-stretch.ts'
import { createRetryTurns } from './retry-turns.ts'
import type { RowHandler } from './row-handler.ts'
import { createWaitingRows } from './waiting-rows.ts'

export interface ShardConsumer {
  /** Does a bounded amount of work. Returns the milliseconds to wait before the next round. */
  round(): Promise<number>
  /** Resolves when no handler is in flight. Call it only between rounds. */
  settled(): Promise<void>
  /** See `lagMs` of `ShardConsumerStatus`. */
  readonly lagMs: number | undefined
}

export interface ShardConsumerOptions {
  readonly shard: number
  readonly leases: PartitionLeases
  readonly handler: RowHandler
  readonly replays: Replays
  readonly moved: MovedRows
  readonly passing: PassedChanges
  readonly retrySlots: RetrySlots
  readonly pollMs: number
  readonly leaseMs: number
  readonly signal: AbortSignal
  readonly onError: (error: unknown) => void
}

/** Largest and smallest number of changes per page; pages shrink while handlers are slow. */
const PAGE = 500
const LEAST_PAGE = 16
/** Milliseconds during which a page begins handlers. Slow handlers thus delay neither saves nor the sharing of partitions. */
const PAGE_MS = 1_000
/** Milliseconds that the round waits for handlers. Slower ones delay only their own partition. */
const PATIENCE_MS = 3_000
/** Milliseconds between two saves while changes arrive. After a crash, changes since the last save come again. */
const SAVE_MS = 1_000
/** Longest time in milliseconds between two looks for free partitions. */
const REFRESH_MS = 2_000
/**
 * Milliseconds that new changes wait for retries, and for changes that are passed on. In a partition where these take longer, they wait until
 * the end.
 */
const RETRY_MS = 100

export function createShardConsumer(context: EngineContext, options: ShardConsumerOptions): ShardConsumer {
  const { shard, leases, handler, replays, moved, passing, retrySlots, pollMs, leaseMs, signal, onError } =
    options
  const elapsed = elapsedBy(context.time)
  const currentShard = (): ReturnType<typeof shardAt> => shardAt(context, shard)
  const refreshMs = Math.min(REFRESH_MS, leaseMs / 3)
  let refreshAt = -Infinity
  let savedAt = -Infinity
  /** The floor and the database's time at the last read, in µs, and this process's elapsed time then, in milliseconds. */
  let clock: { readonly floor: number; readonly now: number; readonly at: number } | undefined
  let hasNews = false
  let pageLimit = PAGE
  const waiting = createWaitingRows(context.time, moved, onError)
  const turns = createRetryTurns((partition) =>
    handler.due(partition).filter((change) => !passing.isOver(change, partition) && waiting.mayRetry(change)),
  )
  /** Failovers that set places back. A handler that began before one must not move a place: the new primary may give its time to another write. */
  let fallbacks = 0
  /** Partitions that have passed changes on, and whose new changes had no turn since. */
  const passed = new WeakSet<HeldPartition>()
  const empty = createEmptyStretch()
  const readDueRows = createReadDueRows(context, currentShard, moved, signal)

  const busy = createBusyPartitions(context.time, leases, leaseMs, onError)

  /** Hands over rows of a partition. Calls `onDone` in order, up to the first row that has to come again; returns true if there was none. */
  async function handOver<Row extends EntityRow>(
    partition: HeldPartition,
    rows: readonly Row[],
    beginBy: number,
    onDone: (row: Row) => void,
    kind: 'new' | 'retry',
  ): Promise<boolean> {
    const outcomes = rows.map((row) => handler.handle(partition, row, beginBy, kind))
    // The partition is idle only after all of its handlers have ended.
    const allEnded = Promise.allSettled(outcomes)
    let isWhole = true
    try {
      for (const [i, outcome] of outcomes.entries()) {
        isWhole = await outcome
        if (!isWhole) break
        onDone(rows[i] as Row)
      }
    } finally {
      await allEnded
    }
    return isWhole
  }

  /** Returns the time up to which changes may be read, and sets places back after a failover. */
  async function readFloor(): Promise<ReadableFloor> {
    const askedAt = elapsed()
    // Compares with the newest place: after the floor was raised again, only a place that is still ahead of it shows that it fell.
    const newest = latestOf(leases.held.map(empty.endFor))
    const readable = await readableFloor(currentShard(), newest, pollMs, signal)
    const { floor, now, epoch } = readable
    await moved.learn(epoch)
    await requireNoGap(leases.held, readable)
    clock = { floor, now, at: askedAt }
    empty.checkFloor(floor)
    for (const partition of leases.held) {
      partition.since = Math.min(partition.since, floor)
      if (floor >= partition.place.updated) continue
      // A failover lost the writes up to this place, and the new primary gives their times to other writes.
      partition.place = placeAt(floor)
      fallbacks++
    }
    return readable
  }

  function movePlace(partition: HeldPartition, place: UpdatedPlace): void {
    if (comparePlaces(place, partition.place) <= 0) return
    partition.place = { updated: place.updated, addedId: place.addedId }
    hasNews = true
  }

  /**
   * Throws `CHANGES_GONE` if a purge removed deletions that one of these partitions has not seen, or a move rows. Purges wait for consumers,
   * but not for ever.
   */
  async function requireNoGap(
    partitions: readonly HeldPartition[],
    state: Pick<FloorState, 'purged'>,
  ): Promise<void> {
    for (const partition of partitions) {
      const place = { ...partition.place, since: partition.since }
      try {
        requireUnpurged(currentShard(), state, place)
        moved.requireKept(place)
      } catch (error) {
        // Another process may have taken the partition over, and have handled these changes.
        await leases.save()
        if (partition.isHeld) throw error
      }
    }
  }

  /** Hands over the next changes of these partitions. Returns whether there may be more. */
  async function handOverPage(partitions: readonly HeldPartition[], upTo: ReadableFloor): Promise<boolean> {
    const { entities } = currentShard()
    const { floor: until } = upTo
    const fallbacksBefore = fallbacks
    const byNumber = new Map(partitions.map((partition) => [partition.number, partition]))
    const partitionOf = ({ addedId }: UpdatedPlace): HeldPartition =>
      byNumber.get(addedId % PARTITIONS) as HeldPartition
    const opened = openedTo(currentShard())
    const after = earliestOf(partitions.map(({ place }) => place))
    const range = { after, until, of: { count: PARTITIONS, some: [...byNumber.keys()] } }
    const maxBody = longestBody(pageLimit)
    const page = await lastingPage(currentShard(), range, pageLimit, { signal, maxBody })
    if (page.length === 0) {
      const stretch = empty.recordEmpty(partitions, upTo, opened)
      for (const partition of stretch?.proven ?? []) movePlace(partition, stretch!.end)
      pageLimit = Math.min(PAGE, 2 * pageLimit)
      return false
    }
    // A purge may have overtaken a place after the floor was read and before the page was, and a move may have begun or ended.
    const state = await entities.floor({ signal })
    await moved.learn(state.epoch)
    await requireNoGap(partitions, state)
    const rows = await waiting.choose(
      page.filter((row) => comparePlaces(row, partitionOf(row).place) > 0),
      partitionOf,
    )
    const versions = new Map(rows.map(({ addedId, version }) => [addedId, version]))
    const isLast = page.length < pageLimit
    const end = isLast ? placeAt(until) : (page.at(-1) as UpdatedPlace)
    /** Partitions with rows of this page that were not handed over. */
    const unfinished = new Set<HeldPartition>()
    const beginBy = elapsed() + PAGE_MS
    let wanted = 0
    let handled = 0
    const advance = (partition: HeldPartition, place: UpdatedPlace): void => {
      // After a failover the new primary may give the time of this place to another write.
      if (fallbacks === fallbacksBefore) movePlace(partition, place)
    }
    for await (const run of wholeRows(currentShard(), context, rows, { signal })) {
      const begun: Promise<unknown>[] = []
      // A row that was replaced stays among them, because a crash may undo that.
      const wantedRows = run.filter(
        (row) => row.version !== versions.get(row.addedId) || handler.isWanted(partitionOf(row), row),
      )
      wanted += wantedRows.length
      for (const [partition, partitionRows] of Map.groupBy(wantedRows, partitionOf)) {
        const isSkipped = elapsed() > beginBy || unfinished.has(partition)
        unfinished.add(partition)
        if (isSkipped) continue
        const work = async (): Promise<void> => {
          const replaced = partitionRows.findIndex(
            ({ addedId, version }) => version !== versions.get(addedId),
          )
          // A crash may undo the replacement of this entity, so the next page of the partition begins in front of it.
          const unreplaced = replaced === -1 ? partitionRows : partitionRows.slice(0, replaced)
          const onDone = (row: UpdatedPlace): void => {
            handled++
            advance(partition, row)
          }
          const isWhole = await handOver(partition, unreplaced, beginBy, onDone, 'new')
          if (isWhole && replaced === -1) unfinished.delete(partition)
        }
        begun.push(busy.occupy(partition.number, work))
      }
      await busy.wait(begun, beginBy - elapsed() + PATIENCE_MS)
      if (signal.aborted) break
    }
    for (const partition of partitions) {
      if (!unfinished.has(partition) && !signal.aborted)
        advance(partition, waiting.placeBefore(partition) ?? end)
    }
    // The next page has about as many wanted rows as this one could begin handlers.
    const handledShare = wanted === 0 ? 1 : handled / wanted
    const nextLimit = unfinished.size > 0 ? Math.ceil(2 * handledShare * rows.length) : 2 * pageLimit
    pageLimit = Math.min(PAGE, Math.max(LEAST_PAGE, nextLimit))
    return (!isLast || unfinished.size > 0) && (wanted === 0 || handled > 0)
  }

  /** Retries failing changes that are due, with the current state of their entities. Returns whether any were due. */
  async function retry(): Promise<boolean> {
    const found = turns.next(busy.idle(), retrySlots.free)
    if (found.size === 0) return false
    const due = await replays.withoutMisplaced(found, { signal })
    hasNews ||= due.size < found.size
    if (due.size === 0) return false
    const rows = await readDueRows(due)
    const durable = [...rows.values()].filter((row) => row !== 'later')
    const beginBy = elapsed() + PAGE_MS
    const byPartition = Map.groupBy(durable, (row) => due.get(formatId(row.id)) as HeldPartition)
    const begun = Array.from(byPartition, ([partition, partitionRows]) => {
      const onDone = (): void => {
        turns.tried(partition)
        hasNews = true
      }
      return busy.occupy(partition.number, () => handOver(partition, partitionRows, beginBy, onDone, 'retry'))
    })
    await busy.wait(begun, RETRY_MS)
    return true
  }

  /** Turns dead letters that are marked for replay into failing changes. */
  async function takeReplays(): Promise<void> {
    const wanted = await replays.readWanted(busy.idle(), { signal })
    const begun = Array.from(wanted, ([partition, letters]) =>
      busy.occupy(partition.number, () => replays.take(partition, letters, { signal })),
    )
    await busy.wait(begun, PATIENCE_MS)
  }

  /**
   * Passes failing changes of departed entities on. Their partitions begin nothing until the owners have answered, so that their places stay;
   * the others proceed.
   */
  async function passOn(): Promise<void> {
    const idle = busy.idle().filter((partition) => !passed.has(partition))
    // The buckets are learned here and not beside a round: of two readings at once, the older one could come last.
    const due = await passing.due(idle, { signal })
    if (due.length === 0) return
    const work = passing.passOn(due, { signal }).catch(onError)
    for (const partition of due) {
      passed.add(partition)
      void busy.occupy(partition.number, () => work)
    }
    await busy.wait([work], RETRY_MS)
  }

  async function saveIfDue(): Promise<void> {
    const everyMs = hasNews ? Math.min(SAVE_MS, leaseMs / 3) : leaseMs / 3
    if (leases.held.length === 0 || elapsed() - savedAt < everyMs) return
    savedAt = elapsed()
    hasNews = false
    await leases.save()
  }

  return {
    get lagMs() {
      if (leases.held.length === 0) return 0
      if (clock === undefined) return undefined
      const { floor, now, at: readAt } = clock
      const { updated } = earliestOf(leases.held.map(empty.endFor))
      // If everything up to the floor is handled, nothing was late at that read, even with a clock behind the floor.
      const lagMs = updated >= floor && floor > now ? 0 : lagOf(updated, now)
      return lagMs === undefined ? undefined : Math.round(Math.max(0, lagMs + elapsed() - readAt))
    },
    settled: busy.settled,
    async round() {
      if (elapsed() >= refreshAt) {
        await leases.refresh(busy.numbers(), { signal })
        refreshAt = elapsed() + refreshMs
        await takeReplays().catch(onError)
        await passOn().catch(onError)
      }
      const retried = await retry()
      if (retried) await saveIfDue()
      const upTo = leases.held.length > 0 ? await readFloor() : undefined
      for (const partition of busy.idle()) passed.delete(partition)
      turns.passed(busy.idle())
      const open = await waiting.open(busy.idle().filter((partition) => !handler.isFull(partition)))
      const hasMore = upTo !== undefined && open.length > 0 && (await handOverPage(open, upTo))
      await saveIfDue()
      if (hasMore || retried) return 0
      return leases.held.length === 0 ? Math.min(refreshMs, SAVE_MS) : pollMs
    },
  }
}
