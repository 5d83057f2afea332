import { isBytes } from '@looseleaf/core'
import { sql } from 'kysely'
import type { BuildPart, ParameterizedSql } from './index-scan.ts'
import { toNumber } from './row-values.ts'
import type { Row } from './session.ts'
import { roundedUp, slot, toPowerOfTwo } from './sql-parts.ts'

/** Parameters of one statement, or one part; SQLite takes 32,766. They also keep its text short: SQLite takes a MB. */
const MAX_SLOTS = 2_048
/** Bytes of parameters of one statement, or one part: as literals of a text they are far below any limit of a packet. */
const MAX_BYTES = 512 * 1024

/** Statements of one call in flight: with more, one call could take all connections of a shard. */
const IN_FLIGHT = 2

/** Which part a row is of. No column has this name. */
const PART = '$part'

/** SELECT statements for items of one kind. */
export interface Parts<Item> {
  /** Those of one statement at the most, see `Flavor.unionParts`. */
  readonly most: number
  /** Those of one that is kept prepared, at the most, see `Flavor.preparedParts`. */
  readonly mostPrepared: number
  statementOf(item: Item): ParameterizedSql
  /** An item whose statement has the same shape, and gives no row without looking for one. */
  nothing(item: Item): Item
  select(statement: ParameterizedSql): Promise<readonly Row[]>
}

interface Part<Item> {
  readonly item: Item
  readonly statement: ParameterizedSql
  /** What its statement has given. */
  rows: readonly Row[]
}

/**
 * Gives the rows of each item, in the order of the items. Statements of one shape become parts of one, joined by UNION ALL,
 * as long as it stays a sensible one. The rows of an item are in no order. After a statement that fails no other is begun.
 */
export async function unionOf<Item>(
  items: readonly Item[],
  parts: Parts<Item>,
): Promise<readonly (readonly Row[])[]> {
  const all = items.map((item): Part<Item> => ({ item, statement: parts.statementOf(item), rows: [] }))
  const alike = Map.groupBy(all, ({ statement }) => statement.shape)
  const chunks = alike.values().flatMap((some) => inChunks(some, mostOf(some, parts)))
  // They take turns at the same chunks. One that ends by throwing ends these for the other.
  const fillNext = async (): Promise<void> => {
    for (const chunk of chunks) await fill(chunk, parts)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, fillNext))
  return all.map(({ rows }) => rows)
}

/** The same with a limit at its end, as a parameter: 0 gives nothing. */
export function limited({ shape, build, parameters }: ParameterizedSql, limit: number): ParameterizedSql {
  return {
    shape: `${shape} limited`,
    build: () => sql`${build()} LIMIT ${slot}`,
    parameters: [...parameters, limit],
  }
}

async function fill<Item>(chunk: readonly Part<Item>[], parts: Parts<Item>): Promise<void> {
  const first = chunk[0] as Part<Item>
  if (chunk.length === 1) {
    first.rows = await parts.select(first.statement)
    return
  }
  const { shape, build, buildPart = within(build), isGuarded } = first.statement
  // More go as text: cut into several that are kept they would be more statements.
  const keep = chunk.length <= parts.mostPrepared ? first.statement.keep : undefined
  // The fewer lengths there are, the fewer statements a connection keeps.
  const length = keep === undefined ? roundedUp(chunk.length) : toPowerOfTwo(chunk.length)
  const count = Math.min(length, mostOf(chunk, parts))
  const filler = parts.statementOf(parts.nothing(first.item))
  const found = await parts.select({
    shape: `${count} ${shape}`,
    // The first says how the columns are called.
    build: () =>
      sql.join(
        Array.from({ length: count }, (_, i) =>
          buildPart(i === 0 ? sql`${sql.lit(i)} AS ${sql.ref(PART)}` : sql.lit(i), i === 0),
        ),
        sql` UNION ALL `,
      ),
    parameters: Array.from({ length: count }, (_, i) => (chunk[i]?.statement ?? filler).parameters).flat(),
    isGuarded,
    keep,
  })
  const byPart = chunk.map((): Row[] => [])
  for (const row of found) byPart[toNumber(row[PART])]!.push(row)
  for (const [i, part] of chunk.entries()) part.rows = byPart[i]!
}

/** One SELECT in another, because SQLite takes an order and a limit at the end of a UNION alone. */
function within(build: ParameterizedSql['build']): BuildPart {
  return (column) => sql`SELECT ${column}, part.* FROM (${build()}) AS part`
}

/** Of one statement at the most. Those of one shape have as many parameters. */
function mostOf<Item>(alike: readonly Part<Item>[], { most }: Parts<Item>): number {
  const slots = Math.max(1, alike[0]?.statement.parameters.length ?? 0)
  return Math.max(1, Math.min(most, Math.floor(MAX_SLOTS / slots)))
}

function inChunks<Item>(alike: readonly Part<Item>[], most: number): readonly (readonly Part<Item>[])[] {
  const chunks: Part<Item>[][] = []
  let bytes = 0
  for (const part of alike) {
    const own = bytesOf(part.statement.parameters)
    const chunk = chunks.at(-1)
    bytes += own
    if (chunk !== undefined && chunk.length < most && bytes <= MAX_BYTES) {
      chunk.push(part)
      continue
    }
    chunks.push([part])
    bytes = own
  }
  return chunks
}

function bytesOf(parameters: readonly unknown[]): number {
  return parameters.reduce<number>((sum, value) => sum + (isBytes(value) ? value.length : 0), 0)
}
