import type { Router } from '@looseleaf/core'
import type { Failover } from '../../lab/replica-shard.ts'
import { checkEntity } from '../history/check-entity.ts'
import {
  gather,
  meets,
  whereItMayNotMatch,
  withSeenVersions,
  type HistoryCounts,
} from '../history/check-history.ts'
import type { EntityHistory, Write } from '../history/entity-history.ts'
import type { ProcessHistory, QueryRecord, SightRecord } from '../history/records.ts'
import { GROUPS, matches, signatureOf, textOfRequest, type QueryRequest, type Content } from '../indexes.ts'

/** State of an entity on the promoted server before that server took writes. */
export interface Survivor {
  readonly version: number
  /** Undefined for a tombstone. */
  readonly by?: number | undefined
  readonly content?: Content | undefined
}

/** A failover that lost the last commits of a shard. */
export interface LossyFailover extends Failover {
  readonly shard: number
  readonly survivors: ReadonlyMap<string, Survivor>
  /** End of the clean that followed. */
  repairedAt: number
}

export interface LossyHistory {
  readonly counts: HistoryCounts
  readonly wrongs: readonly string[]
  /** Acknowledged writes that a promoted server did not have. */
  readonly lost: number
  /**
   * Answers between a failover and the end of its clean that lacked an entity because its row was missing.
   */
  readonly lackedUntilRepaired: number
  /** Rows reported missing by a watcher that a failover may have lost. */
  readonly excusedLooks: number
}

export interface LossyOptions {
  readonly router: Router
  readonly failovers: readonly LossyFailover[]
  /**
   * Rows of entities that fell back may be missing on any shard until the clean. They were deleted after a
   * commit that is now undone; such a delete may even arrive late on the promoted server.
   */
  readonly fallenBackMayMiss: boolean
}

/** An interval in which a shard had the same server. */
interface Reign {
  readonly from: number
  readonly to: number
  /** The failovers that began and ended it. */
  readonly after: LossyFailover | undefined
  readonly before: LossyFailover | undefined
}

/**
 * Judges a history in which shards fall back.
 *
 * 1. While its shard has the same server, an entity is a register.
 * 2. After a failover it starts over with the promoted server's state. That state must have been written, and
 *    must include every write that was acknowledged before the replica was cut off.
 * 3. A call that spans a failover may have run on either server.
 */
export function checkLossyHistory(
  processes: readonly ProcessHistory[],
  sights: readonly SightRecord[],
  /** Rows that the watcher found missing. */
  missing: readonly string[],
  { router, failovers, fallenBackMayMiss }: LossyOptions,
): LossyHistory {
  const { entities, queries, wrongs, counts } = gather(processes)
  for (const sight of sights) entities.get(sight.id)?.sights.push(sight)
  const byAsked = [...Map.groupBy(queries, ({ request }) => textOfRequest(request)).values()]
  let lost = 0
  let lackedUntilRepaired = 0
  let excusedLooks = 0

  for (const [id, all] of entities) {
    const shard = router.shardOfId(bytesOf(id))
    for (const reign of reignsOf(failovers.filter((each) => each.shard === shard))) {
      const history = duringReign(id, all, reign)
      wrongs.push(...checkEntity(history), ...checkBases(history))
      if (reign.before !== undefined) {
        const fell = checkFall(history, all.writes, reign.before)
        wrongs.push(...fell.wrongs)
        lost += fell.lost
      }
      for (const group of byAsked) {
        const request = (group[0] as QueryRecord).request
        const doubtful = whereItMayNotMatch(history, request)
        const places = rowShards(request, shard, router).map((each): RowPlace => ({
          entityShard: shard,
          rowShard: each,
          writes: all.writes,
        }))
        const gaps = failovers.filter((each) =>
          places.some((place) => mayLack(each, place, fallenBackMayMiss)),
        )
        for (const query of group) {
          if (query.start < reign.from || query.end > reign.to) continue
          if (query.complete === false || meets(doubtful, query.start, query.end)) continue
          const excused = gaps.some((gap) => query.start <= gap.repairedAt && query.end >= gap.goneAt)
          if (!excused) counts.expectedInQueries++
          if (query.found.includes(id)) continue
          if (excused) lackedUntilRepaired++
          else
            wrongs.push(`${id}: a query ${textOfRequest(request)} lacks it, though it matched all the time`)
        }
      }
    }
  }
  for (const row of missing) {
    const id = idIn(row)
    const place = {
      entityShard: router.shardOfId(bytesOf(id)),
      rowShard: Number(row.split(' ')[0]),
      writes: entities.get(id)?.writes ?? [],
    }
    const isExcused =
      failovers.some((each) => mayLack(each, place, fallenBackMayMiss)) ||
      // Both have fallen back together, so the state that was seen no longer exists.
      (row.endsWith('replaced just now') &&
        failovers.some(({ shard }) => shard === place.entityShard && shard === place.rowShard))
    if (isExcused) excusedLooks++
    else wrongs.push(`missing during the run: ${row}`)
  }
  return { counts, wrongs, lost, lackedUntilRepaired, excusedLooks }
}

function idIn(row: string): string {
  return /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(row)?.[0] ?? ''
}

function bytesOf(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

function reignsOf(failovers: readonly LossyFailover[]): Reign[] {
  return [undefined, ...failovers].map((after, i): Reign => {
    const before = failovers[i]
    return { from: after?.openedAt ?? -Infinity, to: before?.goneAt ?? Infinity, after, before }
  })
}

function duringReign(
  id: string,
  all: { readonly writes: readonly Write[]; readonly sights: readonly SightRecord[] },
  { from, to, after }: Reign,
): EntityHistory {
  const survivor = after?.survivors.get(id)
  const sights = all.sights.filter(({ start, end }) => start >= from && end <= to)
  const writes = all.writes
    .filter(({ start, end, number }) => start <= to && end >= from && number !== survivor?.by)
    .map((write): Write => {
      if (write.outcome === 'failed' || (write.start >= from && write.end <= to)) return write
      // The write may have run in this reign or in another one.
      return { ...write, outcome: 'unknown', version: undefined, previous: undefined, base: undefined }
    })
  if (survivor !== undefined) {
    const { by = -survivor.version, content = null, version } = survivor
    writes.push({ number: by, id, start: -Infinity, end: from, outcome: 'acknowledged', content, version })
  }
  return { id, writes: withSeenVersions(writes, sights), sights }
}

/** Checks that each acknowledged update was based on a state of the same reign. */
function checkBases({ id, writes }: EntityHistory): string[] {
  const numbers = new Set(writes.map(({ number }) => number))
  return writes.flatMap(({ number, previous, outcome }) =>
    outcome !== 'acknowledged' || previous === undefined || numbers.has(previous)
      ? []
      : [`${id}: operation ${number} updated ${previous}, which a failover had lost`],
  )
}

function checkFall(
  { id, writes }: EntityHistory,
  ever: readonly Write[],
  { caughtUpAt, survivors }: LossyFailover,
): { readonly wrongs: string[]; readonly lost: number } {
  const wrongs: string[] = []
  const survivor = survivors.get(id)
  const version = survivor?.version ?? 0
  const gone = writes.filter((write) => write.outcome === 'acknowledged' && (write.version ?? 0) > version)
  for (const write of gone)
    if (write.end < caughtUpAt)
      wrongs.push(`${id}: operation ${write.number} is lost, though the replica had it`)
  if (survivor?.by !== undefined) {
    const writer = ever.find(({ number }) => number === survivor.by)
    const isRight =
      writer !== undefined &&
      writer.outcome !== 'failed' &&
      writer.content !== null &&
      signatureOf(writer.content) === signatureOf(survivor.content as Content)
    if (!isRight)
      wrongs.push(`${id}: the promoted server has a state of operation ${survivor.by} that it never wrote`)
  }
  return { wrongs, lost: gone.length }
}

/**
 * Tells whether a failover may have lost a row, until the next sweep. A row beside its entity is lost only
 * together with it, with one exception: a write in flight may have written the row on the old server and
 * committed the entity on the promoted one.
 */
function mayLack(failover: LossyFailover, place: RowPlace, fallenBackMayMiss: boolean): boolean {
  const { entityShard, rowShard: shardOfRow, writes } = place
  if (fallenBackMayMiss && failover.shard === entityShard) return true
  if (failover.shard !== shardOfRow) return false
  if (entityShard !== shardOfRow) return true
  return writes.some(({ start, end }) => start < failover.goneAt && end > failover.openedAt)
}

interface RowPlace {
  readonly entityShard: number
  readonly rowShard: number
  /** All writes of the entity. */
  readonly writes: readonly Write[]
}

/** Returns the shards that may hold the entity's rows for this query. */
function rowShards(request: QueryRequest, entityShard: number, router: Router): number[] {
  const keys = rowKeys(request)
  if (keys === undefined) return [entityShard]
  return [...new Set(keys.map((key) => router.shardOfKey(Buffer.from(key))))]
}

/**
 * Returns the values that determine the shard of such rows; undefined if the rows are beside their entities.
 */
function rowKeys(request: QueryRequest): readonly string[] | undefined {
  switch (request.index) {
    case 'by_group_and_time':
    case 'by_day':
      return undefined
    case 'by_tag':
      return request.tags
    case 'by_group':
      return GROUPS.filter((group) => matches(request, { group, tags: [], at: '' }))
    case 'by_tag and by_group':
      return [request.tag, request.group]
  }
}
