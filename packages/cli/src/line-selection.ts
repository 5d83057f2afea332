import type { EntityId } from '@looseleaf/core'

/** Some lines of a file, one after the other; the last of a file's own where `to` is Infinity. */
export interface LineRange {
  readonly from: number
  readonly to: number
  /** The id of a single line, where that has none of its own. */
  readonly id?: EntityId
}

const RANGE = /^(\d+)(?:(-)(\d*)|=([0-9a-f-]+))?$/i

/** `2751,2754-2758,2760=<id>,3001-` as ranges in their order; undefined for any other text. */
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

/** The text from which `linesFromText` makes these; neighbours become one. */
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

/** What of these ranges is not before a line. */
export function linesFrom(ranges: readonly LineRange[], line: number): readonly LineRange[] {
  return ranges
    .filter(({ to }) => to >= line)
    .map((range) => (range.from < line ? { from: line, to: range.to } : range))
}
