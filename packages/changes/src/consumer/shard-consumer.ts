import { elapsedBy, formatId, parseId, type EntityRow, type UpdatedPlace } from '@looseleaf/core'
import { longestBody, wholeRows, type EngineContext } from '@looseleaf/index-engine'
import { placeAt, readableFloor, shardAt } from '@looseleaf/protocol'
import { PARTITIONS } from '../records/names.ts'
import { MAX_FAILING, type RowHandler } from './row-handler.ts'
import type { HeldPartition, PartitionLeases } from './partition-leases.ts'

/** One consumer's work on one shard, in this process. */
export interface ShardConsumer {
  /** Bounded work; answers how long to wait for the next round, in milliseconds. */
  round(): Promise<number>
  /** Age of the oldest change that was not handled, or of the floor, in milliseconds; 0 where nothing is held. */
  readonly lagMs: number
}

export interface ShardConsumerOptions {
  readonly shard: number
  readonly leases: PartitionLeases
  readonly handler: RowHandler
  readonly pollMs: number
  readonly leaseMs: number
  readonly signal: AbortSignal
  /** Done each time that the leases were looked after. */
  readonly onRefresh: () => Promise<void>
}

const PAGE = 500
/** Time between two saves while there is work: what a crash brings again. */
const SAVE_MS = 1_000
/** As often, at the least, it is seen what other processes have given up. */
const REFRESH_MS = 2_000
/** Of one round. */
const RETRIES = 100

export function createShardConsumer(context: EngineContext, options: ShardConsumerOptions): ShardConsumer {
  const { shard, leases, handler, pollMs, leaseMs, signal } = options
  const elapsed = elapsedBy(context.time)
  const at = (): ReturnType<typeof shardAt> => shardAt(context, shard)
  const refreshMs = Math.min(REFRESH_MS, leaseMs / 3)
  let refreshAt = -Infinity
  let savedAt = -Infinity
  /** The database's time when it was read last, and this process's. */
  let clock: { readonly now: number; readonly at: number } | undefined
  let hasNews = false

  /** Waits for handlers, and keeps the leases meanwhile. */
  async function prolonged(work: Promise<unknown>): Promise<void> {
    const over = new AbortController()
    const done = work.finally(() => over.abort())
    const keeping = (async () => {
      while (!over.signal.aborted) {
        await context.time.sleep(leaseMs / 3, over.signal).catch(() => {})
        // A shard that does not answer: the next handler finds that the leases are not sure any more.
        if (!over.signal.aborted) await leases.save({}).catch(() => {})
      }
    })()
    await Promise.all([done, keeping])
  }

  /** Answers the rows that are to come again. */
  async function handleAll<Row extends EntityRow>(
    rows: readonly Row[],
    partitionOf: (row: Row) => HeldPartition,
  ): Promise<readonly Row[]> {
    const left: Row[] = []
    const handled = rows.map(async (row) => {
      if (!(await handler.handle(partitionOf(row), row))) left.push(row)
    })
    await prolonged(Promise.all(handled))
    return left
  }

  /** Hands over the next changes of these partitions; answers whether there may be more. */
  async function nextPage(partitions: readonly HeldPartition[]): Promise<boolean> {
    const { entities } = at()
    const asked = elapsed()
    const { floor: until, now } = await readableFloor(at(), oldestOf(partitions), pollMs, signal)
    clock = { now, at: asked }
    for (const partition of partitions) {
      // A failover has lost what was behind it, and times that were read before are given once more.
      if (until < partition.place.updated) partition.place = placeAt(until)
    }
    const byNumber = new Map(partitions.map((partition) => [partition.number, partition]))
    const partitionOf = ({ addedId }: UpdatedPlace): HeldPartition =>
      byNumber.get(addedId % PARTITIONS) as HeldPartition
    const page = await entities.pageOfChanges(
      { after: oldestOf(partitions), until, of: { count: PARTITIONS, some: [...byNumber.keys()] } },
      PAGE,
      { signal, maxBody: longestBody(PAGE) },
    )
    const rows = page.filter((row) => comparePlaces(row, partitionOf(row).place) > 0)
    const versions = new Map(rows.map(({ addedId, version }) => [addedId, version]))
    const begun = new Set<number>()
    const refused = new Set<number>()
    for await (const run of wholeRows(entities, rows, { signal })) {
      for (const { addedId } of run) begun.add(addedId)
      // One that was replaced since the page was read comes by itself.
      const same = run.filter(({ addedId, version }) => version === versions.get(addedId))
      for (const { addedId } of await handleAll(same, partitionOf)) refused.add(addedId)
      if (signal.aborted) break
    }
    const isLeft = ({ addedId }: UpdatedPlace): boolean =>
      refused.has(addedId) || (signal.aborted && !begun.has(addedId))
    const isLast = page.length < PAGE
    const end = isLast ? placeAt(until) : (page.at(-1) as UpdatedPlace)
    for (const partition of partitions) {
      const own = rows.filter((row) => partitionOf(row) === partition)
      const first = own.findIndex(isLeft)
      const reached = first === -1 ? end : first === 0 ? partition.place : (own[first - 1] as UpdatedPlace)
      if (comparePlaces(reached, partition.place) > 0)
        partition.place = { updated: reached.updated, addedId: reached.addedId }
    }
    if (rows.length > 0) hasNews = true
    return !isLast && (rows.length === 0 || refused.size < rows.length)
  }

  /** Hands over failing changes again that have waited long enough, as their entities are now. */
  async function retry(): Promise<boolean> {
    const due = new Map<string, HeldPartition>()
    for (const partition of leases.held) {
      for (const { id } of handler.due(partition)) if (due.size < RETRIES) due.set(id, partition)
    }
    if (due.size === 0) return false
    const rows = await readDue(due)
    for (const [id, partition] of due) if (!rows.has(id)) partition.failing.delete(id)
    const sure = [...rows.values()].filter((row) => row !== 'later')
    await handleAll(sure, (row) => due.get(formatId(row.id)) as HeldPartition)
    hasNews = true
    return true
  }

  /** The rows of these entities, by id; none of one that is gone. `later`: what is there now may be undone by a crash. */
  async function readDue(due: ReadonlyMap<string, HeldPartition>): Promise<Map<string, EntityRow | 'later'>> {
    const ids = [...due.keys()].map(parseId)
    const read = async (): Promise<Map<string, EntityRow>> => {
      const found = new Map<string, EntityRow>()
      const bounded = await at().entities.readBounded(ids, longestBody(ids.length), { signal })
      const there = bounded.filter((row) => row !== undefined)
      for await (const run of wholeRows(at().entities, there, { signal }))
        for (const row of run) found.set(formatId(row.id), row)
      return found
    }
    const rows = await read()
    const isBelow = ([id, { updated }]: [string, EntityRow]): boolean => updated < due.get(id)!.place.updated
    if ([...rows].every(isBelow)) return rows
    // Written since: at its place it comes by itself, but a partition that waits for its failing changes does not get there.
    await at().flush({ signal })
    const again = await read()
    return new Map([...again].map(([id, row]) => [id, rows.get(id)?.version === row.version ? row : 'later']))
  }

  return {
    get lagMs() {
      if (leases.held.length === 0 || clock === undefined) return 0
      const { now, at: readAt } = clock
      return Math.max(0, (now - oldestOf(leases.held).updated) / 1000 + elapsed() - readAt)
    },
    async round() {
      if (elapsed() >= refreshAt) {
        await leases.refresh({ signal })
        await options.onRefresh()
        refreshAt = elapsed() + refreshMs
      }
      const retried = await retry()
      const open = leases.held.filter(({ failing }) => failing.size < MAX_FAILING)
      const more = open.length > 0 && (await nextPage(open))
      if (
        leases.held.length > 0 &&
        elapsed() - savedAt >= (hasNews ? Math.min(SAVE_MS, leaseMs / 3) : leaseMs / 3)
      ) {
        savedAt = elapsed()
        hasNews = false
        await leases.save({ signal })
      }
      if (more || retried) return 0
      return leases.held.length === 0 ? Math.min(refreshMs, SAVE_MS) : pollMs
    },
  }
}

function comparePlaces(a: UpdatedPlace, b: UpdatedPlace): number {
  return a.updated - b.updated || a.addedId - b.addedId
}

/** None of the partitions is behind it. */
function oldestOf(partitions: readonly HeldPartition[]): UpdatedPlace {
  return partitions.reduce<UpdatedPlace>(
    (oldest, { place }) => (comparePlaces(place, oldest) < 0 ? place : oldest),
    { updated: Infinity, addedId: 0 },
  )
}
