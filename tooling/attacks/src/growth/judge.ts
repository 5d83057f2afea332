import { quantile } from '../faults/quantile.ts'
import { maySee, possibleStates, tookPlace, type EntityStates } from './entity-states.ts'
import { judgeChanges } from './judge-changes.ts'
import { candidates, matches, stateOf } from './model.ts'
import type { ErrorRecord, GrowthRecord, QueryRecord } from './records.ts'

/** A time in which a server did not answer, in microseconds. */
export interface Outage {
  readonly server: number
  readonly from: number
  readonly to: number
}

export interface CallTimes {
  readonly calls: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly worst: number
}

export interface Verdict {
  readonly writes: number
  readonly reads: number
  readonly queries: number
  /** Entities that queries had to find, over all queries. */
  readonly expected: number
  /** Queries that said that they may lack entities. */
  readonly incomplete: number
  readonly refused: number
  readonly unknown: number
  readonly changes: number
  /** Times that followers were told to begin again. */
  readonly gone: number
  /** Failed calls by code, those while a server was down apart. */
  readonly failed: Readonly<Record<string, number>>
  readonly failedInOutages: Readonly<Record<string, number>>
  readonly times: { readonly before: CallTimes; readonly during: CallTimes }
  /** Longest time of each kind of call during the moves, in milliseconds. */
  readonly slowest: Readonly<Record<string, number>>
  /** Violations, in words. */
  readonly wrongs: readonly string[]
}

export interface JudgeOptions {
  readonly outages: readonly Outage[]
  /** Moment at which all entities were there. Earlier calls are judged, and not timed. */
  readonly filledFrom: number
  /** Moment at which the first shard was added. */
  readonly movedFrom: number
}

/** Time after an outage in which calls may still fail: clients notice that the server is back. */
const AFTER_OUTAGE_US = 5_000_000

/** A page that takes longer than `queryTimeMs` of the store may lack entities, and says so. */
const QUERY_TIME_US = 5_000_000

/** Compares every answer of every process with the states that writers sent, and with one another. */
export function judge(
  entities: ReadonlyMap<number, EntityStates>,
  histories: Iterable<readonly GrowthRecord[]>,
  { outages, filledFrom, movedFrom }: JudgeOptions,
): Verdict {
  const wrongs: string[] = []
  const failed: Record<string, number> = {}
  const failedInOutages: Record<string, number> = {}
  const before: number[] = []
  const during: number[] = []
  const counts = { reads: 0, queries: 0, incomplete: 0, expected: 0, changes: 0, gone: 0 }
  const slowest: Record<string, number> = {}
  function timed(call: string, from: number, to: number): void {
    const milliseconds = (to - from) / 1_000
    if (from < filledFrom) return
    if (from < movedFrom) before.push(milliseconds)
    else {
      during.push(milliseconds)
      slowest[call] = Math.max(slowest[call] ?? 0, Math.round(milliseconds))
    }
  }
  const fail = (record: ErrorRecord): void => {
    const text = `${record.call}: ${record.code}`
    const mayFail = record.retryable || record.code === 'OUTCOME_UNKNOWN'
    const isExcused = mayFail && isIn(outages, record.from, record.to)
    const into = isExcused ? failedInOutages : failed
    into[text] = (into[text] ?? 0) + 1
    const when = record.from < movedFrom ? ' before the moves' : ''
    if (!isExcused) wrongs.push(`A call failed${when}: ${text} ${record.message}`)
  }
  for (const records of histories) {
    for (const record of records) {
      if (record.kind === 'sight') {
        counts.reads++
        if (record.call !== 'update') timed(record.call, record.from, record.to)
        const entity = entities.get(record.number)
        if (entity === undefined || !maySee(entity, record.state, record.from, record.to))
          wrongs.push(
            `${record.call} of ${record.number} gave state ${record.state}; possible: ${textOf(entity, record)}`,
          )
      } else if (record.kind === 'query') {
        counts.queries++
        if (!record.complete) {
          counts.incomplete++
          if (record.to - record.from < QUERY_TIME_US && !isIn(outages, record.from, record.to))
            wrongs.push(`A page of ${record.request.index} is not complete, though every server is up`)
        }
        timed(record.paged ? 'all pages of a query' : 'query', record.from, record.to)
        counts.expected += judgeQuery(entities, record, wrongs)
      } else if (record.kind === 'error') fail(record)
      else if (record.kind === 'wrong') wrongs.push(record.message)
    }
    const followed = judgeChanges(records, entities)
    counts.changes += followed.changes
    counts.gone += followed.gone
    wrongs.push(...followed.wrongs)
  }
  const writes = [...entities.values()].flatMap((entity) =>
    entity.writes.filter((write) => write !== undefined),
  )
  for (const { start, end, outcome } of writes) if (outcome === 'acknowledged') timed('write', start, end)
  wrongs.push(...judgeNames(entities))
  const withOutcome = (outcome: string): number => writes.filter((write) => write.outcome === outcome).length
  return {
    writes: withOutcome('acknowledged'),
    refused: withOutcome('refused'),
    unknown: withOutcome('unknown'),
    ...counts,
    failed,
    failedInOutages,
    times: { before: timesOf(before), during: timesOf(during) },
    slowest,
    wrongs,
  }
}

function isIn(outages: readonly Outage[], from: number, to: number): boolean {
  return outages.some((outage) => from <= outage.to + AFTER_OUTAGE_US && to >= outage.from)
}

function textOf(
  entity: EntityStates | undefined,
  { from, to }: { readonly from: number; readonly to: number },
): string {
  return entity === undefined ? 'none' : possibleStates(entity, from, to).join(', ')
}

/** Judges one query. Returns how many entities it had to find. */
function judgeQuery(
  entities: ReadonlyMap<number, EntityStates>,
  { request, from, to, found, paged, complete }: QueryRecord,
  wrongs: string[],
): number {
  const text = `${request.index} ${request.base} ${request.value ?? ''}${paged ? ' in pages' : ''}`
  const states = new Map(found)
  let expected = 0
  const [first, end] = candidates(request)
  for (let number = first; number < end; number++) {
    const entity = entities.get(number)
    if (entity === undefined) continue
    const possible = possibleStates(entity, from, to)
    const matching = possible.filter((state) => state >= 0 && matches(request, stateOf(number, state)))
    const seen = states.get(number)
    states.delete(number)
    const isExpected = complete && matching.length === possible.length
    if (isExpected) expected++
    if (seen === undefined) {
      if (isExpected) wrongs.push(`${text} lacks ${number}, whose states ${possible.join(', ')} all match`)
    } else if (!matching.includes(seen))
      wrongs.push(
        `${text} found ${number} in state ${seen}; possible and matching: ${matching.join(', ')} of ${possible.join(', ')}`,
      )
  }
  for (const number of states.keys()) wrongs.push(`${text} found ${number}, which never matches`)
  return expected
}

interface Holding {
  readonly number: number
  readonly state: number
  /** The entity surely had the name from `from` to `to`. */
  readonly from: number
  readonly to: number
}

/** No two entities have one name at the same time, and a name is refused only if another entity may have it. */
function judgeNames(entities: ReadonlyMap<number, EntityStates>): string[] {
  const wrongs: string[] = []
  const sure = new Map<string, Holding[]>()
  const possible = new Map<string, Holding[]>()
  const refused: { readonly number: number; readonly state: number; readonly name: string }[] = []
  for (const { number, writes } of entities.values()) {
    for (const [state, write] of writes.entries()) {
      const name = stateOf(number, state)?.name
      if (write === undefined || name === undefined) continue
      if (write.outcome === 'refused') refused.push({ number, state, name })
      const next = writes.slice(state + 1).find((later) => later !== undefined && tookPlace(later))
      if (write.outcome === 'acknowledged')
        add(sure, name, { number, state, from: write.end, to: next?.start ?? Infinity })
      const replaced =
        writes.slice(state + 1).find((later) => later?.outcome === 'acknowledged')?.end ?? Infinity
      // A write that was refused for another reason than the name had claimed it until its answer.
      add(possible, name, { number, state, from: write.start, to: tookPlace(write) ? replaced : write.end })
    }
  }
  for (const [name, holdings] of sure) {
    let last: Holding | undefined
    for (const holding of holdings.toSorted((a, b) => a.from - b.from)) {
      if (
        last !== undefined &&
        last.number !== holding.number &&
        holding.from < Math.min(last.to, holding.to)
      )
        wrongs.push(
          `${name} was held by ${last.number} in state ${last.state} and by ${holding.number} in state ${holding.state}`,
        )
      if (last === undefined || holding.to > last.to) last = holding
    }
  }
  for (const { number, state, name } of refused) {
    const { start, end } = entities.get(number)?.writes[state] ?? { start: 0, end: 0 }
    const others = (possible.get(name) ?? []).filter((other) => other.number !== number)
    if (!others.some((other) => other.from <= end && other.to >= start))
      wrongs.push(`State ${state} of ${number} was refused, though no other entity had ${name}`)
  }
  return wrongs
}

function add<Item>(groups: Map<string, Item[]>, name: string, item: Item): void {
  const group = groups.get(name)
  if (group === undefined) groups.set(name, [item])
  else group.push(item)
}

function timesOf(milliseconds: readonly number[]): CallTimes {
  const sorted = milliseconds.toSorted((a, b) => a - b)
  return {
    calls: sorted.length,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    worst: Math.round(sorted.at(-1) ?? 0),
  }
}
