import type { EntityId } from '@looseleaf/core'

/** Consecutive lines of a file. Infinity as `to` stands for the last line. */
export interface LineRange {
  readonly from: number
  readonly to: number
  /** Id for the single line of this range, which has none. */
  readonly id?: EntityId
}

const RANGE = /^(\d+)(?:(-)(\d*)|=([0-9a-f-]+))?$/i

/** Parses a text such as `2751,2754-2758,2760=<id>,3001-` into ascending ranges. Returns undefined for any other text. */
export function linesFromText(text: string): readonly LineRange[] | undefined {
  const ranges: LineRange[] = []
  for (const part of text.split(',')) {
    const [, first, dash, last, id] = RANGE.exec(part.trim()) ?? []
    if (first === undefined) return undefined
    const from = Number(first)
    const to = dash === undefined ? from : last === '' ? Infinity : Number(last)
    const before = ranges.at(-1)?.to ?? 0
    if (from <= before || to < from || !Number.isSafeInteger(from)) return undefined
    ranges.push({ from, to, ...(id !== undefined && { id: id as EntityId }) })
  }
  return ranges
}

/** Returns the text for `linesFromText`. Joins adjacent ranges. */
export function linesToText(ranges: readonly LineRange[]): string {
  const joined: LineRange[] = []
  for (const range of ranges) {
    const last = joined.at(-1)
    if (last && last.id === undefined && range.id === undefined && last.to + 1 === range.from)
      joined[joined.length - 1] = { from: last.from, to: range.to }
    else joined.push(range)
  }
  return joined
    .map(({ from, to, id }) => {
      if (id !== undefined) return `${from}=${id}`
      return to === from ? `${from}` : `${from}-${to === Infinity ? '' : to}`
    })
    .join(',')
}

/** Returns the part of these ranges that starts at a line. */
export function linesFrom(ranges: readonly LineRange[], line: number): readonly LineRange[] {
  return ranges
    .filter(({ to }) => to >= line)
    .map((range) => (range.from < line ? { from: line, to: range.to } : range))
}
