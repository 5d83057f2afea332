import type { Content } from '../indexes.ts'
import type { SightRecord } from './records.ts'

/** A write from its call to its answer. */
export interface Write {
  readonly number: number
  readonly id: string
  readonly start: number
  /** The answer, or the end of the process that waited for it. */
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
 * Tells by when a state was certainly over. Sorted once, asked often.
 *
 * A write that was answered before an acknowledged one began is over when that one was acknowledged. This holds for
 * writes of unknown outcome too, although they may land late: they land by compare-and-swap on a version that they
 * read before their answer, which is gone by then.
 */
export interface Supersession {
  /** The moment by which what was written by `write` was over; Infinity when it may still stand. */
  of(write: Write): number
  /** The moment by which an entity that was never written was over. */
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

/** For any place: the least end of the items strictly behind it. */
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

/** For any moment: the greatest value of the items that ended strictly before it. */
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
