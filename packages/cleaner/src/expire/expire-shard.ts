import { isLooseleafError } from '@looseleaf/core'
import { chunks, type CatalogEntry, type IndexRow } from '@looseleaf/core/internal'
import { isExpiring } from '@looseleaf/index-engine/internal'
import { shardAt, sizeClass } from '@looseleaf/protocol/internal'
import { deriveEntity, expectedIn } from '../look/derive-entity.ts'
import { eachEntity } from '../look/read-entities.ts'
import { cleanableIndexes, indexTarget, tableOn, type IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'

/**
 * Milliseconds between the expiry of an entity and its deletion. Until then a process whose clock is behind still shows the entity, and a
 * process that has read it may be about to postpone its expiry.
 */
const MARGIN_MS = 60_000
/** Rows per page, and so entities in memory. */
const PAGE = 100
/** Deletes per statement. Up to this number a driver reports the outcome of each write by one statement; more need a transaction. */
const DELETES_PER_STATEMENT = 50

/** Last row of a round that ended at its limit, by index table. The next round resumes after it. */
export type ExpiryPlaces = Map<string, IndexRow>

export interface ExpiredOnShard {
  readonly deleted: number
  /** True if the round ended at `maxRows`, so more rows may be due. */
  readonly isFull: boolean
}

interface ReadEntity {
  readonly id: Uint8Array
  readonly version: number
}

/**
 * Deletes the entities of a shard that expired at least a minute ago, by the clocks of both this process and the database. Goes by expiry,
 * earliest first, and reads at most `maxRows` index rows. Each entity is deleted only at the version that was read, so one whose expiry was
 * postponed stays. Its index rows then dangle, and the tail or a sweep deletes them. `places` lets a round resume where the last one ended,
 * so that leading rows without a readable entity do not block the others.
 */
export async function expireShard(
  pass: Pass,
  shard: number,
  maxRows: number,
  places: ExpiryPlaces = new Map(),
): Promise<ExpiredOnShard> {
  const { context, signal, throttle } = pass
  let until = (context.time.now() - MARGIN_MS) * 1000
  let isConfirmed = false
  let budget = maxRows
  let deleted = 0
  const indexes = expiringIndexes(pass)
  for (const target of indexes.filter(({ entry }) => mayDelete(pass, entry))) {
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
      if (!isConfirmed) {
        until = Math.min(until, (await shardAt(context, shard).now({ signal })) - MARGIN_MS * 1000)
        isConfirmed = true
      }
      deleted += await deleteDue(pass, { target, indexes }, shard, rows, until)
      await throttle.take(shard, rows.length, signal)
      budget -= rows.length
      after = last
    }
    places.delete(table)
  }
  return { deleted, isFull: false }
}

/** Returns every index in use by which entities expire, in all generations, except hidden ones. */
function expiringIndexes({ context }: Pass): readonly IndexTarget[] {
  return cleanableIndexes(context)
    .filter((entry) => isExpiring(entry) && !entry.hidden)
    .map((entry) => indexTarget(context, entry))
}

/**
 * Tells whether entities that are due by an index are deleted: it is ready, and the newest generation of its name. An older generation has
 * the time by a definition that was replaced. While an index is building, processes that do not know its `expires` may still run.
 */
function mayDelete({ context }: Pass, { name, generation, state }: CatalogEntry): boolean {
  const isReplaced = cleanableIndexes(context).some(
    (other) => other.name === name && !other.unique && other.generation > generation,
  )
  return state === 'ready' && !isReplaced
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

/**
 * Deletes the entities of these rows whose committed expiry is due. An entity with a later time by any other index stays: programs that go by
 * that one still show it. Returns the number of deleted entities.
 */
async function deleteDue(
  pass: Pass,
  { target, indexes }: { readonly target: IndexTarget; readonly indexes: readonly IndexTarget[] },
  shard: number,
  rows: readonly IndexRow[],
  until: number,
): Promise<number> {
  const due: ReadEntity[] = []
  const ids = rows.map(({ entityId }) => entityId)
  await eachEntity(pass, ids, async (row) => {
    const derived = await deriveEntity(pass, indexes, row.id, row)
    const times = indexes.flatMap((index) => expectedIn(derived, index))
    const isDue = times.every((time) => Number(time.key[0]) <= until)
    const isHere = expectedIn(derived, target).some((expected) => expected.shard === shard)
    if (isHere && isDue) due.push({ id: derived.id, version: derived.version })
  })
  let deleted = 0
  for (const chunk of chunks(due, DELETES_PER_STATEMENT)) deleted += await deleteAsRead(pass, shard, chunk)
  return deleted
}

/**
 * Replaces each entity of this shard by a tombstone if it still has the version that was read. Returns the number of replaced ones. While
 * a move is announced, the rows of an entity are on two shards: the round of the other shard deletes an entity that this one does not own.
 */
async function deleteAsRead(
  { context, throttle, signal }: Pass,
  shard: number,
  read: readonly ReadEntity[],
): Promise<number> {
  const { epochs, placement } = context.catalog.current()
  const epoch = epochs[shard] ?? 0
  const due = read.filter(
    ({ id }) => placement.shardOfId(id) === shard && placement.isServed(id) && !placement.isSealed(id),
  )
  if (due.length === 0) return 0
  const tombstones = due.map(({ id, version: base }) => ({
    id,
    base,
    version: context.clock.next(base),
    body: null,
  }))
  try {
    const replaced = await throttle.send(
      shard,
      ({ length }) => `expired ${sizeClass(length)}`,
      () => shardAt(context, shard).entities.replace(tombstones, { epoch, signal }),
      signal,
    )
    return replaced.filter(Boolean).length
  } catch (error) {
    if (!isLooseleafError(error, 'STALE_EPOCH')) throw error
    // The index may be retiring: the next round uses the new catalog.
    await context.catalog.reload({ signal })
    return 0
  }
}
