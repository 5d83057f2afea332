import type { Router } from '@looseleaf/core'
import type { Failover } from '@looseleaf-tooling/lab/replica-shard'
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
import { GROUPS, matches, signatureOf, textOfAsked, type AskedQuery, type Content } from '../indexes.ts'

/** What the promoted server had of an entity before it took writes. */
export interface Survivor {
  readonly version: number
  /** Undefined for a tombstone. */
  readonly by?: number | undefined
  readonly content?: Content | undefined
}

/** A failover after which a shard stands where it stood before its last commits. */
export interface LossyFailover extends Failover {
  readonly shard: number
  readonly survivors: ReadonlyMap<string, Survivor>
  /** When the clean that followed had ended. */
  repairedAt: number
}

export interface LossyHistory {
  readonly counts: HistoryCounts
  readonly wrongs: readonly string[]
  /** Acknowledged writes that a promoted server did not have. */
  readonly lost: number
  /** Answers that lacked an entity between a failover and the end of the clean after it, for want of a lost row. */
  readonly lackedUntilRepaired: number
  /** Rows that a watcher found missing which a failover may have lost. */
  readonly excusedLooks: number
}

export interface LossyOptions {
  readonly router: Router
  readonly failovers: readonly LossyFailover[]
  /**
   * Rows of entities that fell back may be missing until the clean, wherever they are: they were deleted after a commit
   * that is lost, even on the promoted server, where such a delete may arrive late.
   */
  readonly fallenBackMayMiss: boolean
}

/** A time in which a shard's server was the same. */
interface Reign {
  readonly from: number
  readonly to: number
  /** How it began, and ended. */
  readonly after: LossyFailover | undefined
  readonly before: LossyFailover | undefined
}

/**
 * Judges a history in which shards fall back. An entity is a register as long as its shard has the same server, and
 * begins anew with what the promoted one had of it, whatever was acknowledged. That must be a state that was written,
 * and nothing that was acknowledged before the replica was cut off may be gone from it. A call that reaches from one
 * reign into another may have been carried out in either.
 */
export function checkLossyHistory(
  processes: readonly ProcessHistory[],
  sights: readonly SightRecord[],
  /** What a watcher found missing while it went on. */
  missing: readonly string[],
  { router, failovers, fallenBackMayMiss }: LossyOptions,
): LossyHistory {
  const { entities, queries, wrongs, counts } = gather(processes)
  for (const sight of sights) entities.get(sight.id)?.sights.push(sight)
  const byAsked = [...Map.groupBy(queries, ({ asked }) => textOfAsked(asked)).values()]
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
        const asked = (group[0] as QueryRecord).asked
        const doubtful = whereItMayNotMatch(history, asked)
        const places = rowShards(asked, shard, router).map((each): RowPlace => ({
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
          else wrongs.push(`${id}: a query ${textOfAsked(asked)} lacks it, though it matched all the time`)
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
      // Both have fallen back together, so the state that was seen is no more.
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
      // It may have been carried out in this reign or in another.
      return { ...write, outcome: 'unknown', version: undefined, previous: undefined, base: undefined }
    })
  if (survivor !== undefined) {
    const { by = -survivor.version, content = null, version } = survivor
    writes.push({ number: by, id, start: -Infinity, end: from, outcome: 'acknowledged', content, version })
  }
  return { id, writes: withSeenVersions(writes, sights), sights }
}

/** An update that was acknowledged is made from a state of the same reign. */
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
 * Whether a row may be missing after a failover, until it is swept: its shard has lost it. A row beside its entity is
 * lost only together with it, except that of a write that was under way, which wrote the row on the old server and
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

/** Where the rows of an entity may be that a query has to find. */
function rowShards(asked: AskedQuery, entityShard: number, router: Router): number[] {
  const keys = rowKeys(asked)
  if (keys === undefined) return [entityShard]
  return [...new Set(keys.map((key) => router.shardOfKey(Buffer.from(key))))]
}

/** What decides on the shard of such rows; undefined where they are beside their entities. */
function rowKeys(asked: AskedQuery): readonly string[] | undefined {
  switch (asked.index) {
    case 'by_group_and_time':
    case 'by_day':
      return undefined
    case 'by_tag':
      return asked.tags
    case 'by_group':
      return GROUPS.filter((group) => matches(asked, { group, tags: [], at: '' }))
    case 'by_tag and by_group':
      return [asked.tag, asked.group]
  }
}
