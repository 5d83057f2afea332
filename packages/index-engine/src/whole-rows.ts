import type { BoundedRow, CallOptions, Codec, EntityRow, EntityTable } from '@looseleaf/core'
import { bytesInHand } from './decode-row.ts'

/** Bodies in hand at once, in bytes, where many entities are gone through, as they are stored and as what they become; or one body. */
const BODIES_IN_HAND = 8 * 1024 * 1024

/** The longest body that an answer of so many rows should give: together they are in hand at once. */
export function longestBody(rows: number): number {
  return Math.floor(BODIES_IN_HAND / rows)
}

export type WholeRow<Row extends BoundedRow> = Omit<Row, keyof EntityRow> & EntityRow

/**
 * Rows with all their bodies, in their order and in runs, so that no more bodies are in hand than those of `rows` and those
 * of one run, which may be decoded together: they are what they are before compression. What was left out is read for several
 * runs at the most, and is as it is then. A row that is gone by then is left out.
 */
export async function* wholeRows<Row extends BoundedRow>(
  table: Pick<EntityTable, 'read'>,
  codec: Codec,
  rows: readonly Row[],
  options: CallOptions,
): AsyncGenerator<readonly WholeRow<Row>[], void, undefined> {
  for (const stored of bodyRuns(rows, ({ bodyBytes }) => bodyBytes))
    yield* bodyRuns(await readAll(table, stored, options), ({ body }) =>
      body ? bytesInHand(codec, body) : 0,
    )
}

async function readAll<Row extends BoundedRow>(
  table: Pick<EntityTable, 'read'>,
  rows: readonly Row[],
  options: CallOptions,
): Promise<readonly WholeRow<Row>[]> {
  const leftOut = rows.filter(({ body }) => body === undefined)
  const read =
    leftOut.length === 0
      ? []
      : await table.read(
          leftOut.map(({ id }) => id),
          options,
        )
  const found = new Map(leftOut.map((row, i) => [row, read[i]]))
  return rows.flatMap((row): WholeRow<Row>[] => {
    if (row.body !== undefined) return [{ ...row, body: row.body }]
    const whole = found.get(row)
    return whole === undefined ? [] : [{ ...row, ...whole }]
  })
}

/** Runs of rows of some MiB, or one row, by the bytes of each. */
export function* bodyRuns<Row>(
  rows: readonly Row[],
  bytesOf: (row: Row) => number,
): Generator<readonly Row[]> {
  let start = 0
  let bytes = 0
  for (let i = 0; i < rows.length; i++) {
    const own = bytesOf(rows[i] as Row)
    if (i > start && bytes + own > BODIES_IN_HAND) {
      yield rows.slice(start, i)
      start = i
      bytes = 0
    }
    bytes += own
  }
  if (start < rows.length) yield start === 0 ? rows : rows.slice(start)
}
