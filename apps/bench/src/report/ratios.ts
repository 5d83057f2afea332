import type { Measured, ResultRow } from './results.ts'

const same = [
  'part',
  'scenario',
  'callers',
  'processes',
  'shards',
  'entities',
  'indexes',
  'bag',
  'networkMs',
  'rate',
] as const satisfies readonly (keyof ResultRow)[]

/** Rows that were measured in turns with this one: all is the same but the side. */
function peersOf(rows: readonly ResultRow[], row: ResultRow): ResultRow[] {
  return rows.filter((other) => same.every((name) => other[name] === row[name]))
}

/** The first side's calls a second, Looseleaf's if none is named, divided by those of this row, round by round; undefined for itself. */
export function ratioOf(
  rows: readonly ResultRow[],
  row: ResultRow,
  first: readonly Measured[] = ['looseleaf', 'sqlite-looseleaf'],
): number[] | undefined {
  const base = peersOf(rows, row).find(({ side }) => first.includes(side))
  if (base === undefined || base.side === row.side) return undefined
  return base.rounds.map((ops, i) => ops / (row.rounds[i] as number))
}
