/** Buckets from the first to the last, both included. */
export type BucketRange = readonly [first: number, last: number]

/**
 * Parses ascending ranges of buckets such as `0-76,97`; an empty text has none. Returns undefined for any other text, and for ranges that
 * overlap or are not in order.
 */
export function parseRanges(text: string): readonly BucketRange[] | undefined {
  if (text === '') return []
  const ranges: BucketRange[] = []
  for (const part of text.split(',')) {
    const [, from = '', to = from] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part) ?? []
    const [first, last] = [Number(from), Number(to)]
    if (from === '' || first > last || first <= (ranges.at(-1)?.[1] ?? -1)) return undefined
    ranges.push([first, last])
  }
  return ranges
}

/** Formats ranges in any order as the text that `parseRanges` reads. Ranges that overlap or are next to each other become one. */
export function formatRanges(ranges: readonly BucketRange[]): string {
  const joined: [first: number, last: number][] = []
  for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
    const before = joined.at(-1)
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last)
    else joined.push([first, last])
  }
  return joined.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',')
}

/** Returns the buckets that are in any of these texts. Like all functions below, it throws a `RangeError` for a text that is damaged. */
export function unionOfRanges(...texts: readonly string[]): string {
  return formatRanges(texts.flatMap(rangesIn))
}

/** Returns the buckets of the first text that are not in the second. */
export function withoutRanges(text: string, removed: string): string {
  let ranges = rangesIn(text)
  for (const [first, last] of rangesIn(removed)) {
    ranges = ranges.flatMap((range): BucketRange[] => {
      const [from, to] = range
      if (to < first || from > last) return [range]
      return [
        ...(from < first ? [[from, first - 1] as const] : []),
        ...(to > last ? [[last + 1, to] as const] : []),
      ]
    })
  }
  return formatRanges(ranges)
}

/** Tells whether the first text has every bucket of the second. */
export function rangesInclude(text: string, buckets: string): boolean {
  return withoutRanges(buckets, text) === ''
}

/** Returns the buckets of a text in ascending order. */
export function bucketsIn(text: string): readonly number[] {
  const buckets: number[] = []
  for (const [first, last] of rangesIn(text))
    for (let bucket = first; bucket <= last; bucket++) buckets.push(bucket)
  return buckets
}

function rangesIn(text: string): readonly BucketRange[] {
  const ranges = parseRanges(text)
  if (ranges === undefined) throw new RangeError('The buckets are no ascending ranges, such as 0-76,97.')
  return ranges
}
