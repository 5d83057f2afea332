import { isLooseleafError, type EntityRow, type IndexRow } from '@looseleaf/core'
import { isExpiring } from '@looseleaf/index-engine'
import { shardAt } from '@looseleaf/protocol'
import { deriveEntity, expectedIn } from '../look/derive-entity.ts'
import { eachEntity } from '../look/read-entities.ts'
import { indexTarget, tableOn, type IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { sizeClass } from '../pass/throttle.ts'
import { chunks } from '../tools/chunks.ts'

/**
 * An entity is deleted so long after its time, in milliseconds: a process whose clock is behind shows it until then, and one that has read
 * it may be about to push its time ahead.
 */
const MARGIN_MS = 60_000
/** Rows read at a time, and so entities in hand. */
const PAGE = 100
/** A statement of so many writes names its winners; more would be a transaction. */
const DELETES_PER_STATEMENT = 50

/** The last row of a round that has ended early, by the name of the index table: the next round goes on behind it. */
export type ExpiryPlaces = Map<string, IndexRow>

export interface ExpiredOnShard {
  readonly deleted: number
  /** Whether it has ended at `maxRows`, with more that may be due. */
  readonly isFull: boolean
}

interface SeenRow {
  readonly id: Uint8Array
  readonly version: number
}

/**
 * Deletes the entities of a shard that have expired a minute ago, by the clock of this process and that of the database: from the one that
 * expired first on, until it has looked at `maxRows` rows. Each is deleted at the version that was read, so one whose time is
 * pushed ahead meanwhile stays. Their index rows are dangling then, which is for the tail or a sweep. `places`: so that rows at the front
 * that lead to nothing, or to what cannot be read, do not keep the others from their turn.
 */
export async function expireShard(
  pass: Pass,
  shard: number,
  maxRows: number,
  places: ExpiryPlaces = new Map(),
): Promise<ExpiredOnShard> {
  const { context, signal, throttle } = pass
  let until = (context.time.now() - MARGIN_MS) * 1000
  let isSure = false
  let budget = maxRows
  let deleted = 0
  for (const target of expiringIndexes(pass)) {
    const { table } = target.entry
    let after = places.get(table)
    for (;;) {
      if (budget <= 0) {
        if (after !== undefined) places.set(table, after)
        return { deleted, isFull: true }
      }
      const rows = await dueRows(pass, target, shard, {
        until,
        after,
        limit: Math.min(PAGE, budget, pass.maxPage),
      })
      const last = rows.at(-1)
      if (last === undefined) break
      if (!isSure) {
        until = Math.min(until, (await shardAt(context, shard).now({ signal })) - MARGIN_MS * 1000)
        isSure = true
      }
      deleted += await deleteDue(pass, target, shard, rows, until)
      await throttle.take(shard, rows.length, signal)
      budget -= rows.length
      after = last
    }
    places.delete(table)
  }
  return { deleted, isFull: false }
}

/** Ready indexes alone: while an index is building, processes that do not know its `expires` may still be running. */
function expiringIndexes({ context }: Pass): readonly IndexTarget[] {
  return context.catalog
    .current()
    .indexes.filter((entry) => isExpiring(entry) && entry.state === 'ready' && !entry.hidden)
    .map((entry) => indexTarget(context, entry))
}

function dueRows(
  { throttle, signal }: Pass,
  target: IndexTarget,
  shard: number,
  range: { readonly until: number; readonly after: IndexRow | undefined; readonly limit: number },
): Promise<readonly IndexRow[]> {
  const { until, after, limit } = range
  const scan = {
    prefix: [],
    upper: { value: BigInt(until), inclusive: true },
    order: 'asc' as const,
    limit,
    ...(after !== undefined && { after: { key: after.key, entityId: after.entityId } }),
  }
  return throttle.send(
    shard,
    ({ length }) => `rows ${target.entry.table} ${sizeClass(length)}`,
    () => tableOn(target, shard).scan(scan, { signal }),
    signal,
  )
}

/** Deletes the entities of rows that are due by what is committed, and answers how many. */
async function deleteDue(
  pass: Pass,
  target: IndexTarget,
  shard: number,
  rows: readonly IndexRow[],
  until: number,
): Promise<number> {
  const due: SeenRow[] = []
  const note = (row: EntityRow): void => {
    const derived = deriveEntity(pass, [target], row.id, row)
    const [time] = expectedIn(derived, target)
    const isDue = time?.shard === shard && Number(time.key[0]) <= until
    if (isDue) due.push({ id: derived.id, version: derived.version })
  }
  await eachEntity(
    pass,
    rows.map(({ entityId }) => entityId),
    note,
  )
  let deleted = 0
  for (const some of chunks(due, DELETES_PER_STATEMENT)) deleted += await deleteAsRead(pass, shard, some)
  return deleted
}

/** Replaces each by a tombstone where it still has its version. */
async function deleteAsRead(
  { context, throttle, signal }: Pass,
  shard: number,
  due: readonly SeenRow[],
): Promise<number> {
  const epoch = context.catalog.current().epochs[shard] ?? 0
  const tombstones = due.map(({ id, version: base }) => ({
    id,
    base,
    version: context.clock.next(base),
    body: null,
  }))
  try {
    const won = await throttle.send(
      shard,
      ({ length }) => `expired ${sizeClass(length)}`,
      () => shardAt(context, shard).entities.replace(tombstones, { epoch, signal }),
      signal,
    )
    return won.filter(Boolean).length
  } catch (error) {
    if (!isLooseleafError(error, 'STALE_EPOCH')) throw error
    // The index may be on its way out: the next round goes by what the shards say now.
    await context.catalog.reload({ signal })
    return 0
  }
}
