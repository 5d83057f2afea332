import type { BoundedRow, CallOptions, EntityRow, EntityTable } from '@looseleaf/core'

/** Bodies in hand at once, in bytes, where many entities are gone through; or one body. */
const BODIES_IN_HAND = 8 * 1024 * 1024

/** The longest body that an answer of so many rows should give: together they are in hand at once. */
export function longestBody(rows: number): number {
  return Math.floor(BODIES_IN_HAND / rows)
}

export type WholeRow<Row extends BoundedRow> = Omit<Row, keyof EntityRow> & EntityRow

/**
 * Rows with all their bodies, in their order and in runs, so that no more bodies are in hand than those of `rows` and those
 * of one run. What was left out is read for each run, and is as it is then. A row that is gone by then is left out.
 */
export async function* wholeRows<Row extends BoundedRow>(
  table: Pick<EntityTable, 'read'>,
  rows: readonly Row[],
  options: CallOptions,
): AsyncGenerator<readonly WholeRow<Row>[], void, undefined> {
  for (const run of runs(rows)) {
    const leftOut = run.filter(({ body }) => body === undefined)
    const read =
      leftOut.length === 0
        ? []
        : await table.read(
            leftOut.map(({ id }) => id),
            options,
          )
    const found = new Map(leftOut.map((row, i) => [row, read[i]]))
    yield run.flatMap((row): WholeRow<Row>[] => {
      if (row.body !== undefined) return [{ ...row, body: row.body }]
      const whole = found.get(row)
      return whole === undefined ? [] : [{ ...row, ...whole }]
    })
  }
}

function* runs<Row extends BoundedRow>(rows: readonly Row[]): Generator<readonly Row[]> {
  let start = 0
  let bytes = 0
  for (const [i, { bodyBytes }] of rows.entries()) {
    if (i > start && bytes + bodyBytes > BODIES_IN_HAND) {
      yield rows.slice(start, i)
      start = i
      bytes = 0
    }
    bytes += bodyBytes
  }
  if (start < rows.length) yield rows.slice(start)
}
