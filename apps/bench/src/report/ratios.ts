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

/** Returns the rows that were measured in turns with this one, so that only the side differs. */
function peersOf(rows: readonly ResultRow[], row: ResultRow): ResultRow[] {
  return rows.filter((other) => same.every((name) => other[name] === row[name]))
}

/**
 * Divides the calls a second of the first side by those of this row, round by round. Default of `first`: Looseleaf. Returns undefined for
 * the first side's own row, and if the first side was not measured.
 */
export function ratioOf(
  rows: readonly ResultRow[],
  row: ResultRow,
  first: readonly Measured[] = ['looseleaf', 'sqlite-looseleaf'],
): number[] | undefined {
  const base = peersOf(rows, row).find(({ side }) => first.includes(side))
  if (base === undefined || base.side === row.side) return undefined
  return base.rounds.map((ops, i) => ops / (row.rounds[i] as number))
}
