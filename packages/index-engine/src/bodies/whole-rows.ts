import type { CallOptions, Shard } from '@looseleaf/core'
import { chunksBySize, type BoundedRow, type EntityRow, type EntityTable } from '@looseleaf/core/internal'
import type { EngineContext } from '../engine-context.ts'
import { bytesInHand } from './decode-row.ts'

/** Bound on the bytes of bodies in memory at once, stored or decoded. A single larger body is allowed. */
const BODIES_IN_HAND = 8 * 1024 * 1024

/** Returns the longest body that a statement of so many rows should return, so that all of them fit into memory. In bytes. */
export function longestBody(rows: number): number {
  return Math.floor(BODIES_IN_HAND / rows)
}

interface WholeRowsShard extends Pick<Shard, 'name'> {
  readonly entities: Pick<EntityTable, 'read'>
}

export type WholeRow<Row extends BoundedRow> = Omit<Row, keyof EntityRow> & EntityRow

/**
 * Completes rows with the bodies that a statement left out for their length, and loads the codec entries of all bodies. Yields the rows in
 * their order, in runs whose decoded bodies take at most 8 MiB, or one row. A body that was left out is read shortly before its run, and has
 * its state of then. A row that has been deleted by then is left out.
 */
export async function* wholeRows<Row extends BoundedRow>(
  { name, entities }: WholeRowsShard,
  { codec, bodies }: Pick<EngineContext, 'codec' | 'bodies'>,
  rows: readonly Row[],
  options: CallOptions,
): AsyncGenerator<readonly WholeRow<Row>[], void, undefined> {
  for (const stored of bodyRuns(rows, ({ bodyBytes }) => bodyBytes)) {
    const whole = await readAll(entities, stored, options)
    await bodies.load(whole, name)
    yield* bodyRuns(whole, ({ body }) => (body ? bytesInHand(codec, body) : 0))
  }
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

/** Splits rows into runs of at most 8 MiB, or one row. `bytesOf` returns the bytes of a row. */
export function bodyRuns<Row>(
  rows: readonly Row[],
  bytesOf: (row: Row) => number,
): Generator<readonly Row[]> {
  return chunksBySize(rows, bytesOf, BODIES_IN_HAND)
}
