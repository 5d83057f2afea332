import { matches, textOfRequest, type QueryRequest, type Content } from '../indexes.ts'
import { checkEntity, type EntityCheckOptions } from './check-entity.ts'
import { createSupersession, type EntityHistory, type Write } from './entity-history.ts'
import type { BeginRecord, EndRecord, ProcessHistory, QueryRecord, SightRecord } from './records.ts'

export interface HistoryCounts {
  operations: number
  acknowledged: number
  failed: number
  unknown: number
  reads: number
  queries: number
  /** Writes that were acknowledged with index rows deferred to the cleaner. */
  notIndexed: number
  /** Queries that reported themselves incomplete. */
  incompleteQueries: number
  /** Queries that replicas answered. */
  queriesOfReplicas: number
  /** Entities that queries had to find, summed over all queries. */
  expectedInQueries: number
  /** Part of `expectedInQueries` that was not found although rows may come after their entity. */
  lackedInQueries: number
  /** Error codes that callers received, with their counts. */
  readonly errors: Record<string, number>
  /** Duration of the longest call in milliseconds, without the time that its process was stopped. */
  longestMs: number
}

export interface HistoryOptions extends EntityCheckOptions {
  /** Rows may come after their entity, so a query may lack acknowledged writes. Default: false. */
  readonly queriesMayLack?: boolean | undefined
}

export interface HistoryResult {
  readonly counts: HistoryCounts
  /** Violations, in words. */
  readonly wrongs: readonly string[]
}

export interface GatheredRecords {
  readonly entities: Map<string, { writes: Write[]; sights: SightRecord[] }>
  readonly queries: QueryRecord[]
  readonly wrongs: string[]
  readonly counts: HistoryCounts
}

/**
 * Judges a recorded history. Checks each entity as a register, and each query against the entities that
 * matched all the time and those that never matched. The final contents of the tables are passed as sights
 * too.
 */
export function checkHistory(
  processes: readonly ProcessHistory[],
  finally_: readonly SightRecord[] = [],
  options: HistoryOptions = {},
): HistoryResult {
  const gathered = gather(processes)
  for (const sight of finally_) entityIn(gathered, sight.id).sights.push(sight)
  const histories = [...gathered.entities].map(([id, { writes, sights }]): EntityHistory => {
    return { id, writes: withSeenVersions(writes, sights), sights }
  })
  const { wrongs, counts } = gathered
  for (const history of histories) wrongs.push(...checkEntity(history, options))
  const lacks = checkQueries(histories, gathered.queries, counts)
  if (options.queriesMayLack === true) counts.lackedInQueries = lacks.length
  else wrongs.push(...lacks)
  return { counts, wrongs }
}

export function gather(processes: readonly ProcessHistory[]): GatheredRecords {
  const gathered: GatheredRecords = {
    entities: new Map(),
    queries: [],
    wrongs: [],
    counts: {
      operations: 0,
      acknowledged: 0,
      failed: 0,
      unknown: 0,
      reads: 0,
      queries: 0,
      notIndexed: 0,
      incompleteQueries: 0,
      queriesOfReplicas: 0,
      expectedInQueries: 0,
      lackedInQueries: 0,
      errors: {},
      longestMs: 0,
    },
  }
  const { counts } = gathered
  for (const { records, goneAt } of processes) {
    const begun = new Map<number, BeginRecord>()
    const stops = records.filter((record) => record.kind === 'stopped')
    const took = (start: number, end: number): void => {
      const still = stops.reduce(
        (sum, stop) => sum + Math.max(0, Math.min(end, stop.end) - Math.max(start, stop.start)),
        0,
      )
      counts.longestMs = Math.max(counts.longestMs, (end - start - still) / 1_000)
    }
    for (const record of records) {
      if (record.kind === 'begin') begun.set(record.number, record)
      else if (record.kind === 'end') {
        const begin = begun.get(record.number)
        if (begin === undefined) continue
        begun.delete(record.number)
        took(begin.at, record.at)
        addWrite(gathered, begin, record)
      } else if (record.kind === 'sight') {
        took(record.called ?? record.start, record.end)
        if (record.inQuery !== true) counts.reads++
        entityIn(gathered, record.id).sights.push(record)
      } else if (record.kind === 'query') {
        took(record.called ?? record.start, record.end)
        counts.queries++
        if (record.fromReplicas === true) counts.queriesOfReplicas++
        if (record.complete === false) counts.incompleteQueries++
        gathered.queries.push(record)
      } else if (record.kind === 'error') {
        took(record.start, record.end)
        countError(counts, record.code)
      } else if (record.kind === 'wrong') gathered.wrongs.push(record.message)
    }
    // The process died before its answer arrived.
    for (const begin of begun.values())
      addWrite(gathered, begin, { kind: 'end', number: begin.number, at: goneAt, outcome: 'unknown' })
  }
  counts.operations = counts.acknowledged + counts.failed + counts.unknown + counts.reads + counts.queries
  return gathered
}

function addWrite(gathered: GatheredRecords, begin: BeginRecord, end: EndRecord): void {
  const { counts } = gathered
  counts[end.outcome]++
  if (end.indexed === false) counts.notIndexed++
  if (end.code !== undefined) countError(counts, end.code)
  entityIn(gathered, begin.id).writes.push({
    number: begin.number,
    id: begin.id,
    start: begin.at,
    end: end.at,
    outcome: end.outcome,
    content: begin.content,
    version: end.version,
    previous: end.previous,
    base: end.base,
  })
}

function countError(counts: HistoryCounts, code: string): void {
  counts.errors[code] = (counts.errors[code] ?? 0) + 1
}

function entityIn(gathered: GatheredRecords, id: string): { writes: Write[]; sights: SightRecord[] } {
  let entity = gathered.entities.get(id)
  if (entity === undefined) gathered.entities.set(id, (entity = { writes: [], sights: [] }))
  return entity
}

/**
 * Turns each write of unknown outcome that was seen into an acknowledged one, with the lowest version seen.
 */
export function withSeenVersions(writes: readonly Write[], sights: readonly SightRecord[]): Write[] {
  const seen = new Map<number, { version: number; previous: number | undefined }>()
  for (const { by, version, previous } of sights) {
    if (by === undefined || version === undefined) continue
    if (version < (seen.get(by)?.version ?? Infinity)) seen.set(by, { version, previous })
  }
  return writes.map((write) => {
    const sight = write.outcome === 'unknown' ? seen.get(write.number) : undefined
    return sight === undefined ? write : { ...write, version: sight.version, previous: sight.previous }
  })
}

/** Sorted, disjoint intervals of time. */
export type Intervals = readonly { readonly from: number; readonly to: number }[]

/** Checks that each query found the entities that matched from its beginning to its end. */
function checkQueries(
  histories: readonly EntityHistory[],
  queries: readonly QueryRecord[],
  counts: HistoryCounts,
): string[] {
  const wrongs: string[] = []
  const byAsked = Map.groupBy(queries, ({ request }) => textOfRequest(request))
  for (const [text, group] of byAsked) {
    const { request } = group[0] as QueryRecord
    for (const history of histories) {
      const doubtful = whereItMayNotMatch(history, request)
      for (const query of group) {
        if (query.complete === false) continue
        if (meets(doubtful, query.start, query.end)) continue
        counts.expectedInQueries++
        if (!query.found.includes(history.id))
          wrongs.push(`${history.id}: a query ${text} lacks it, though it matched all the time`)
      }
    }
  }
  return wrongs
}

export function whereItMayNotMatch({ writes }: EntityHistory, request: QueryRequest): Intervals {
  const supersession = createSupersession(writes)
  const matching = (content: Content | null): boolean => content !== null && matches(request, content)
  const doubtful = writes
    .filter(({ outcome, content }) => outcome !== 'failed' && !matching(content))
    .map((write) => ({ from: write.start, to: supersession.of(write) }))
  return merge([{ from: -Infinity, to: supersession.ofNothing }, ...doubtful])
}

function merge(intervals: Intervals): Intervals {
  const merged: { from: number; to: number }[] = []
  for (const { from, to } of intervals.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
    else merged.push({ from, to })
  }
  return merged
}

export function meets(intervals: Intervals, from: number, to: number): boolean {
  let [low, high] = [0, intervals.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((intervals[middle] as { to: number }).to < from) low = middle + 1
    else high = middle
  }
  const first = intervals[low]
  return first !== undefined && first.from <= to
}
