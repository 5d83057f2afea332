import { sql, type RawBuilder } from 'kysely'
import type { Stretch } from './index-scan.ts'
import { toNumber } from './row-values.ts'
import type { Row } from './session.ts'
import { roundedUp } from './sql-parts.ts'

/** Parts of one statement; SQLite takes 500 at the most. */
const MAX_PARTS = 128
/** Parameters of one statement, or one part. SQLite takes 32,766. */
const MAX_SLOTS = 4_096
/** Bytes of parameters of one statement, or one part: a text with these as literals is far below any packet limit. */
const MAX_BYTES = 512 * 1024

/** Which part a row is of. No column has this name. */
const PART = '$part'

/** SELECT statements for items of one kind. */
export interface Parts<Item> {
  of(item: Item): Stretch
  /** An item whose statement has the same shape and gives no row, at no cost. */
  nothing(item: Item): Item
  run(
    shape: string,
    build: () => RawBuilder<unknown>,
    parameters: readonly unknown[],
  ): Promise<readonly Row[]>
}

/**
 * Gives the rows of each item, in the order of the items: those of one shape as parts of one statement, joined by UNION ALL,
 * as long as it stays a sensible one. The rows of one item are in no order.
 */
export async function unionOf<Item>(items: readonly Item[], parts: Parts<Item>): Promise<readonly Row[][]> {
  const rows = items.map((): Row[] => [])
  const all = items.map((item, place) => ({ item, place, stretch: parts.of(item) }))
  const chunks = Array.from(Map.groupBy(all, ({ stretch }) => stretch.shape).values()).flatMap(inChunks)
  await Promise.all(
    chunks.map(async (chunk) => {
      const { item, place, stretch } = chunk[0] as Part<Item>
      if (chunk.length === 1) {
        rows[place] = [...(await parts.run(stretch.shape, stretch.build, stretch.parameters))]
        return
      }
      const count = roundedUp(chunk.length)
      const filler = parts.of(parts.nothing(item))
      const build = (): RawBuilder<unknown> =>
        sql.join(
          Array.from(
            { length: count },
            (_, number) =>
              sql`SELECT ${sql.lit(number)} AS ${sql.ref(PART)}, part.* FROM (${stretch.build()}) AS part`,
          ),
          sql` UNION ALL `,
        )
      const parameters = Array.from({ length: count }, (_, i) => (chunk[i]?.stretch ?? filler).parameters)
      const found = await parts.run(`${count} ${stretch.shape}`, build, parameters.flat())
      for (const row of found) rows[(chunk[toNumber(row[PART])] as Part<Item>).place]?.push(row)
    }),
  )
  return rows
}

interface Part<Item> {
  readonly item: Item
  /** Its place among the items. */
  readonly place: number
  readonly stretch: Stretch
}

function inChunks<Item>(parts: readonly Part<Item>[]): readonly (readonly Part<Item>[])[] {
  const chunks: Part<Item>[][] = []
  let slots = 0
  let bytes = 0
  for (const part of parts) {
    const { parameters } = part.stretch
    const size = bytesOf(parameters)
    slots += parameters.length
    bytes += size
    const chunk = chunks.at(-1)
    if (chunk !== undefined && chunk.length < MAX_PARTS && slots <= MAX_SLOTS && bytes <= MAX_BYTES) {
      chunk.push(part)
      continue
    }
    chunks.push([part])
    slots = parameters.length
    bytes = size
  }
  return chunks
}

function bytesOf(parameters: readonly unknown[]): number {
  return parameters.reduce<number>((sum, value) => sum + (value instanceof Uint8Array ? value.length : 0), 0)
}
