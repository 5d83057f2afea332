import type { Content } from '../indexes.ts'
import type { SightRecord } from './records.ts'

/** A write from its call to its answer. */
export interface Write {
  readonly number: number
  readonly id: string
  readonly start: number
  /** Time of the answer, or of the death of the process that waited for it. */
  readonly end: number
  readonly outcome: 'acknowledged' | 'failed' | 'unknown'
  /** Null for a delete. */
  readonly content: Content | null
  readonly version?: number | undefined
  readonly previous?: number | undefined
  readonly base?: number | undefined
}

export interface EntityHistory {
  readonly id: string
  readonly writes: readonly Write[]
  readonly sights: readonly SightRecord[]
}

/**
 * Tells when a state was certainly replaced. Sorts once, for many lookups.
 *
 * If a write was answered before an acknowledged write began, its state was replaced when the acknowledged
 * write was answered. This includes writes of unknown outcome, although they may commit late: they
 * compare-and-swap a version that they read before their answer, and that version no longer exists.
 */
export interface Supersession {
  /** Latest time at which the state written by `write` can be current; Infinity if it may still be. */
  of(write: Write): number
  /** Latest time at which the entity can be unwritten. */
  readonly ofNothing: number
}

export function createSupersession(writes: readonly Write[]): Supersession {
  const acknowledged = writes.filter(({ outcome }) => outcome === 'acknowledged')
  const byStart = suffixMinimum(acknowledged.map(({ start, end }) => ({ at: start, end })))
  const byVersion = suffixMinimum(
    acknowledged.flatMap(({ version, end }) => (version === undefined ? [] : [{ at: version, end }])),
  )
  const puts = acknowledged.filter(({ content }) => content !== null)
  return {
    of: ({ end, version }) => Math.min(byStart(end), version === undefined ? Infinity : byVersion(version)),
    ofNothing: Math.min(Infinity, ...puts.map(({ end }) => end)),
  }
}

/** Returns, for each position, the least end of the items strictly behind it. */
export function suffixMinimum(
  items: readonly { readonly at: number; readonly end: number }[],
): (place: number) => number {
  const sorted = items.toSorted((a, b) => a.at - b.at)
  const least: number[] = []
  let minimum = Infinity
  for (const { end } of sorted.toReversed()) least.push((minimum = Math.min(minimum, end)))
  least.reverse()
  return (place) => least[firstBehind(sorted, place)] ?? Infinity
}

/** Returns, for each time, the greatest value of the items that ended strictly before it. */
export function prefixMaximum(
  items: readonly { readonly end: number; readonly value: number }[],
): (place: number) => number {
  const sorted = items.toSorted((a, b) => a.end - b.end)
  const keys = sorted.map(({ end }) => ({ at: end }))
  const greatest: number[] = []
  let maximum = -Infinity
  for (const { value } of sorted) greatest.push((maximum = Math.max(maximum, value)))
  return (place) => greatest[firstAtOrBehind(keys, place) - 1] ?? -Infinity
}

function firstBehind(sorted: readonly { readonly at: number }[], place: number): number {
  return search(sorted, (at) => at > place)
}

function firstAtOrBehind(sorted: readonly { readonly at: number }[], place: number): number {
  return search(sorted, (at) => at >= place)
}

function search(sorted: readonly { readonly at: number }[], isBehind: (at: number) => boolean): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBehind((sorted[middle] as { at: number }).at)) high = middle
    else low = middle + 1
  }
  return low
}
