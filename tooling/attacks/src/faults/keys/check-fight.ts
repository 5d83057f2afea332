import type { FightBegin, FightEnd, FightRecord, FightSight } from './fight-records.ts'

export interface FightCounts {
  readonly acknowledged: number
  readonly refused: number
  readonly unknown: number
  readonly failed: number
  /** Intervals in which an entity certainly had a key. */
  readonly holdings: number
  /** How often a key moved to another entity. */
  readonly changes: number
}

export interface FightResult {
  readonly counts: FightCounts
  readonly wrongs: readonly string[]
}

/** A write with its answer, if it had one. */
type Ended = FightBegin & { readonly end: FightEnd | undefined }

/** An interval in which an entity certainly had a key. */
interface Holding {
  readonly id: string
  readonly version: number
  readonly key: string
  readonly from: number
  readonly until: number
}

/**
 * Compares the answers that writers received with the sights. Each version of an entity is current for one
 * interval, so an entity that was seen twice at one version had it all the time between.
 */
export function checkFight(records: readonly FightRecord[], sights: readonly FightSight[]): FightResult {
  const ends = new Map(records.flatMap((record) => (record.kind === 'end' ? [[record.number, record]] : [])))
  const writes = records.flatMap((record): Ended[] =>
    record.kind === 'begin' ? [{ ...record, end: ends.get(record.number) }] : [],
  )
  const acknowledged = writes.flatMap(({ number, id, key, at, end }): FightSight[] =>
    end?.outcome === 'acknowledged' && end.version !== undefined
      ? [{ id, key, by: number, version: end.version, start: at, end: end.at }]
      : [],
  )
  const evidence = [...acknowledged, ...sights]
  const byEntity = Map.groupBy(evidence, ({ id }) => id)
  const holdings = holdingsOf(byEntity)
  const { wrongs: twice, changes } = keysHeldTwice(holdings)
  const count = (outcome: FightEnd['outcome']): number =>
    writes.filter(({ end }) => (end?.outcome ?? 'unknown') === outcome).length
  return {
    counts: {
      acknowledged: count('acknowledged'),
      refused: count('refused'),
      unknown: count('unknown'),
      failed: count('failed'),
      holdings: holdings.length,
      changes,
    },
    wrongs: [
      ...twice,
      ...lostWrites(acknowledged, byEntity),
      ...strangers(writes, sights),
      ...falseRefusals(writes, byEntity),
    ],
  }
}

function holdingsOf(byEntity: ReadonlyMap<string, readonly FightSight[]>): Holding[] {
  return [...byEntity].flatMap(([id, all]) =>
    [...Map.groupBy(all, ({ version }) => version)].flatMap(([version, seen]): Holding[] => {
      const key = seen[0]?.key ?? null
      const from = Math.min(...seen.map(({ end }) => end))
      const until = Math.max(...seen.map(({ start }) => start))
      return key !== null && from < until ? [{ id, version, key, from, until }] : []
    }),
  )
}

function keysHeldTwice(holdings: readonly Holding[]): { wrongs: string[]; changes: number } {
  const wrongs: string[] = []
  let changes = 0
  for (const [key, all] of Map.groupBy(holdings, (holding) => holding.key)) {
    let last: Holding | undefined
    for (const holding of all.toSorted((a, b) => a.from - b.from)) {
      if (last !== undefined && last.id !== holding.id) {
        changes++
        if (holding.from < last.until)
          wrongs.push(
            `${last.id} (version ${last.version}) and ${holding.id} (${holding.version}) both had ${key}`,
          )
      }
      if (last === undefined || holding.until > last.until) last = holding
    }
  }
  return { wrongs, changes }
}

/** Checks that no sight after an acknowledgement is older than the acknowledged write. */
function lostWrites(
  acknowledged: readonly FightSight[],
  byEntity: ReadonlyMap<string, readonly FightSight[]>,
): string[] {
  return acknowledged.flatMap(({ id, version, end }) => {
    const older = byEntity.get(id)?.find((seen) => seen.start > end && seen.version < version)
    return older === undefined
      ? []
      : [`${id}: version ${version} was acknowledged, and version ${older.version} was there after that`]
  })
}

/** Checks that each state seen was written, with this key, by a write that was not reported as failed. */
function strangers(writes: readonly Ended[], sights: readonly FightSight[]): string[] {
  const byNumber = new Map(writes.map((write) => [write.number, write]))
  return sights.flatMap(({ id, by, key, version }) => {
    if (by === null) return []
    const write = byNumber.get(by)
    const isKnown = write?.id === id && write.key === key
    const outcome = write?.end?.outcome ?? 'unknown'
    const took = outcome === 'acknowledged' || outcome === 'unknown'
    return isKnown && took ? [] : [`${id}: version ${version} is of write ${by}, which was ${outcome}`]
  })
}

/** Checks that each holder named in a refusal may have had the key during the call. */
function falseRefusals(
  writes: readonly Ended[],
  byEntity: ReadonlyMap<string, readonly FightSight[]>,
): string[] {
  const takers = Map.groupBy(writes, ({ id, key }) => `${id} ${key}`)
  return writes.flatMap(({ number, key, at, end }) => {
    if (end?.outcome !== 'refused') return []
    const mayHave = (takers.get(`${end.holder} ${key}`) ?? []).some((taker) => {
      if (taker.at > end.at || taker.end?.outcome === 'refused' || taker.end?.outcome === 'failed')
        return false
      const version = taker.end?.version
      if (version === undefined) return true
      return !byEntity
        .get(taker.id)
        ?.some((seen) => seen.version > version && seen.by !== taker.number && seen.end < at)
    })
    return mayHave ? [] : [`write ${number} was refused ${key}, which ${end.holder} cannot have had`]
  })
}
