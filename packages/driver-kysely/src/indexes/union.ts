import { chunksBySize, isBytes } from '@looseleaf/core/internal'
import { sql } from 'kysely'
import { toNumber } from '../database/row-values.ts'
import type { Row } from '../database/session.ts'
import { roundedUp, parameter, toPowerOfTwo } from '../database/sql-parts.ts'
import type { BuildPart, ParameterizedSql } from './index-scan.ts'

/**
 * Largest number of parameters of a statement that has several parts. SQLite allows 32,766, and 1 MB of text, which this bound
 * keeps as well.
 */
const MAX_PARAMETERS = 2_048
/** Largest size of the parameters of such a statement, in bytes: as literals they stay far below any packet limit. */
const MAX_BYTES = 512 * 1024

/** Statements of one call in flight. With more, one call could take all connections of a shard. */
const IN_FLIGHT = 2

/** Column with the number of the part that a row belongs to. No other column has this name. */
const PART = '$part'

/** SELECT statements for items of one kind. */
export interface Parts<Item> {
  /** Largest number of parts of a statement, see `Flavor.unionParts`. */
  readonly maxParts: number
  /** Largest number of parts of a statement that is kept prepared, see `Flavor.preparedParts`. */
  readonly maxPreparedParts: number
  statementOf(item: Item): ParameterizedSql
  /** Returns an item whose statement has the same shape, at no cost for the server. Its rows are left out. */
  toEmpty(item: Item): Item
  select(statement: ParameterizedSql): Promise<readonly Row[]>
}

interface Part<Item> {
  readonly item: Item
  readonly statement: ParameterizedSql
  /** Rows of the item, once its statement is answered. */
  rows: readonly Row[]
}

/**
 * Resolves with the rows of each item, in the order of the items. Statements of one shape become parts of one UNION ALL, within
 * the bounds above. The rows of an item have no order. After a statement fails, no other is sent.
 */
export async function unionOf<Item>(
  items: readonly Item[],
  parts: Parts<Item>,
): Promise<readonly (readonly Row[])[]> {
  // Grouping a single scan took 5 % of the client's time of its page.
  if (items.length === 1) return [await parts.select(parts.statementOf(items[0]!))]
  const all = items.map((item): Part<Item> => ({ item, statement: parts.statementOf(item), rows: [] }))
  const byShape = Map.groupBy(all, ({ statement }) => statement.shape)
  const chunks = byShape
    .values()
    .flatMap((alike) => chunksBySize(alike, bytesOf, MAX_BYTES, maxPartsOf(alike, parts)))
  // The loops share one iterator: `for of` closes it when a loop throws, which ends the other loop too.
  const fillNext = async (): Promise<void> => {
    for (const chunk of chunks) await fill(chunk, parts)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, fillNext))
  return all.map(({ rows }) => rows)
}

/** Adds a LIMIT as a parameter; with 0 the statement has no rows. */
export function limited({ shape, build, parameters }: ParameterizedSql, limit: number): ParameterizedSql {
  return {
    shape: `${shape} limited`,
    build: () => sql`${build()} LIMIT ${parameter}`,
    parameters: [...parameters, limit],
  }
}

async function fill<Item>(chunk: readonly Part<Item>[], parts: Parts<Item>): Promise<void> {
  const first = chunk[0] as Part<Item>
  if (chunk.length === 1) {
    first.rows = await parts.select(first.statement)
    return
  }
  const { shape, build, buildPart = inSubquery(build), guardAt } = first.statement
  // A longer UNION is sent as text. Several prepared ones would be more statements.
  const keep = chunk.length <= parts.maxPreparedParts ? first.statement.keep : undefined
  // Fewer lengths mean fewer prepared statements per connection.
  const length = keep === undefined ? roundedUp(chunk.length) : toPowerOfTwo(chunk.length)
  const count = Math.min(length, maxPartsOf(chunk, parts))
  const filler = parts.statementOf(parts.toEmpty(first.item))
  const found = await parts.select({
    shape: `${count} ${shape}`,
    // The first part names the columns of the whole UNION.
    build: () =>
      sql.join(
        Array.from({ length: count }, (_, i) =>
          buildPart(i === 0 ? sql`${sql.lit(i)} AS ${sql.ref(PART)}` : sql.lit(i), i === 0),
        ),
        sql` UNION ALL `,
      ),
    parameters: Array.from({ length: count }, (_, i) => (chunk[i]?.statement ?? filler).parameters).flat(),
    guardAt,
    keep,
  })
  const byPart = chunk.map((): Row[] => [])
  for (const row of found) byPart[toNumber(row[PART])]?.push(row)
  for (const [i, part] of chunk.entries()) part.rows = byPart[i]!
}

/** Puts a SELECT inside another one, because SQLite allows ORDER BY and LIMIT at the end of a UNION only. */
function inSubquery(build: ParameterizedSql['build']): BuildPart {
  return (column) => sql`SELECT ${column}, part.* FROM (${build()}) AS part`
}

/** Returns the largest number of parts of a statement. Parts of one shape have equally many parameters. */
function maxPartsOf<Item>(alike: readonly Part<Item>[], { maxParts }: Parts<Item>): number {
  const parameters = Math.max(1, alike[0]?.statement.parameters.length ?? 0)
  return Math.max(1, Math.min(maxParts, Math.floor(MAX_PARAMETERS / parameters)))
}

function bytesOf<Item>({ statement: { parameters } }: Part<Item>): number {
  return parameters.reduce<number>((sum, value) => sum + (isBytes(value) ? value.length : 0), 0)
}
