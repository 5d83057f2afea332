import type { ResultRow } from './results.ts'

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

/** Looseleaf's calls a second divided by those of this row, round by round; undefined for Looseleaf itself. */
export function ratioOf(rows: readonly ResultRow[], row: ResultRow): number[] | undefined {
  const peers = peersOf(rows, row)
  const base =
    peers.find(({ side }) => side === 'looseleaf') ?? peers.find(({ side }) => side === 'sqlite-looseleaf')
  if (base === undefined || base.side === row.side) return undefined
  return base.rounds.map((ops, i) => ops / (row.rounds[i] as number))
}
