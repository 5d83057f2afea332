import {
  directionsOf,
  type Direction,
  type IndexScan,
  type IndexTableSpec,
  type KeyRange,
} from '@looseleaf/core'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from './flavor.ts'
import { selectedColumns } from './index-row.ts'
import { columnNames, INCLUDED } from './schema.ts'
import type { StatementHints } from './session.ts'
import { and, or, slot, slots } from './sql-parts.ts'

/** A statement together with its parameters; `shape` is the same for all that have the same SQL. */
export interface ParameterizedSql {
  readonly shape: string
  build(): RawBuilder<unknown>
  /** The same as a part of a UNION, with a column before its own; undefined for one that has to stand within another SELECT. */
  readonly buildPart?: BuildPart | undefined
  /** Without those of `ownSession`, which come before these where it `isGuarded`. */
  readonly parameters: readonly unknown[]
  /** Whether it ends with an error in any session but its own, alone and as the first part of a UNION. */
  readonly isGuarded?: boolean | undefined
  readonly keep?: StatementHints['keep']
}

export type BuildPart = (column: RawBuilder<unknown>, isFirst: boolean) => RawBuilder<unknown>

/** A column of the key in the order of a scan. */
interface Column {
  readonly name: string
  readonly direction: Direction
}

/** What one SELECT has besides the others of a UNION. */
interface Extras {
  /** A column before its own. */
  readonly column?: RawBuilder<unknown>
  readonly isFirst?: boolean
}

/** The rows of a range. */
export function within(key: readonly string[], { prefix, lower, upper }: KeyRange): ParameterizedSql {
  const above = lower && (lower.inclusive ? '>=' : '>')
  const below = upper && (upper.inclusive ? '<=' : '<')
  const parameters: unknown[] = [...prefix]
  if (lower !== undefined) parameters.push(lower.value)
  if (upper !== undefined) parameters.push(upper.value)
  return {
    shape: `${prefix.length}${above ?? ''}${below ?? ''}`,
    build: () => {
      const column = sql.ref(key[prefix.length]!)
      const bounds = [above, below].filter((operator) => operator !== undefined)
      return and([
        ...prefix.map((_, i) => equal(key[i]!)),
        ...bounds.map((operator) => sql`${column} ${sql.raw(operator)} ${slot}`),
      ])
    },
    parameters,
  }
}

/** The statement of a scan, for one table. Its rows have no columns for the values of the prefix. */
export function indexScans(spec: IndexTableSpec, flavor: Flavor): (scan: IndexScan) => ParameterizedSql {
  const table = sql.table(spec.table)
  const key = [...columnNames(spec), 'entity_id']
  const directions: readonly Direction[] = [...directionsOf(spec.columns), 1]
  const inOwnSession = flavor.ownSession.only(sql`1`)
  const isPrepared = flavor.preparedParts > 0
  const numbers = new Set(key.filter((_, i) => spec.columns[i]?.type === 'number'))

  function restOf({ prefix, order }: IndexScan): readonly Column[] {
    const sign = order === 'asc' ? 1 : -1
    return key.slice(prefix.length).map((name, i) => {
      const direction = directions[prefix.length + i] as Direction
      return { name, direction: (sign * direction) as Direction }
    })
  }

  // Short, and without what could be left out: a server reads the text of a UNION for as long as it looks for the rows.
  function select(
    condition: readonly RawBuilder<unknown>[],
    rest: readonly Column[],
    included: boolean,
    { column, isFirst = false }: Extras = {},
  ): RawBuilder<unknown> {
    const selected = [
      ...(column === undefined ? [] : [column]),
      selectedColumns(flavor, spec, key.length - rest.length),
      sql.ref('version'),
      ...(included ? [sql.ref(INCLUDED)] : []),
    ]
    return sql`SELECT ${sql.join(selected)} FROM ${table} WHERE ${and(isFirst ? [inOwnSession, ...condition] : condition)} ORDER BY ${inOrder(rest, true)} LIMIT ${slot}`
  }

  /** `ofTable`: by the columns of the table, where a SELECT gives other values under their names. */
  function inOrder(rest: readonly Column[], ofTable: boolean): RawBuilder<unknown> {
    // Where a key has one row, its columns say the order; MySQL would sort the whole range by one more.
    const sorted = spec.unique && rest.length > 1 ? rest.slice(0, -1) : rest
    return sql.join(
      sorted.map(({ name, direction }) => {
        const column = sql.ref(ofTable && numbers.has(name) ? `${spec.table}.${name}` : name)
        return direction === 1 ? column : sql`${column} DESC`
      }),
    )
  }

  /** One SELECT, alone and as a part. */
  function built(
    one: (extras: Extras) => RawBuilder<unknown>,
    isGuarded = false,
  ): Pick<ParameterizedSql, 'build' | 'buildPart'> {
    return {
      build: () => one({ isFirst: isGuarded }),
      buildPart: flavor.orderedParts
        ? (column, isFirst) => sql`(${one({ column, isFirst: isGuarded && isFirst })})`
        : undefined,
    }
  }

  return (scan) => {
    const { prefix, order, after, included = false } = scan
    // A prepared LIMIT takes no double, which a number would be.
    const limit = Number.isSafeInteger(scan.limit) ? BigInt(scan.limit) : scan.limit
    const inRange = within(key, scan)
    const shape = `scan ${order} ${inRange.shape}${included ? ' included' : ''}`
    if (after === undefined) {
      return {
        shape,
        ...built((extras) => select([inRange.build()], restOf(scan), included, extras), isPrepared),
        parameters: [...inRange.parameters, limit],
        // Else it would read from another table, where another session has that one's statement under its number.
        isGuarded: isPrepared,
        keep: isPrepared ? 'scan' : undefined,
      }
    }
    const rest = restOf(scan)
    const { inclusive = false } = after
    const place = [...after.key.slice(prefix.length), after.entityId]
    if (!flavor.rowValuesSeek) {
      const behind = spelledOut(rest, place, inclusive)
      return {
        shape: `${shape} ${inclusive ? 'from' : 'after'}`,
        ...built((extras) => select([inRange.build(), behind.build()], rest, included, extras)),
        parameters: [...inRange.parameters, ...behind.parameters, limit],
      }
    }
    const steps = stepsBehind(rest, place, inclusive)
    const parts = (): readonly RawBuilder<unknown>[] =>
      steps.map(({ build }) => select([inRange.build(), build()], rest, included))
    return {
      shape: `${shape} ${inclusive ? 'from' : 'after'}`,
      build: () =>
        steps.length === 1
          ? (parts()[0] as RawBuilder<unknown>)
          : sql`
              ${sql.join(
                parts().map((part) => sql`SELECT * FROM (${part})`),
                sql` UNION ALL `,
              )} ORDER BY ${inOrder(rest, false)} LIMIT ${slot}`,
      parameters: [
        ...steps.flatMap(({ parameters }) => [...inRange.parameters, ...parameters, limit]),
        ...(steps.length === 1 ? [] : [limit]),
      ],
    }
  }
}

type Condition = Pick<ParameterizedSql, 'build' | 'parameters'>

/**
 * Rows behind a place, or with it, as databases read it in one range each where row values would read all of it:
 * a > ? OR (a = ? AND b > ?) OR …
 */
function spelledOut(rest: readonly Column[], place: readonly unknown[], inclusive: boolean): Condition {
  const { name: first, direction } = rest[0] as Column
  return {
    build: () =>
      and([
        sql`${sql.ref(first)} ${beyond(direction, true)} ${slot}`,
        or(
          rest.map(
            ({ name, direction: way }, i) =>
              sql`(${and([
                ...rest.slice(0, i).map((before) => equal(before.name)),
                sql`${sql.ref(name)} ${beyond(way, inclusive && i === rest.length - 1)} ${slot}`,
              ])})`,
          ),
        ),
      ]),
    parameters: [place[0], ...rest.flatMap((_, i) => place.slice(0, i + 1))],
  }
}

/**
 * Rows behind a place, or with it, in steps that follow each other: one for each run of columns in one direction, from the
 * last run to the first. `(a, b) > (?, ?)` finds its place in an index, and takes columns of one direction alone.
 */
function stepsBehind(
  rest: readonly Column[],
  place: readonly unknown[],
  inclusive: boolean,
): readonly Condition[] {
  const steps: Condition[] = []
  let end = rest.length
  while (end > 0) {
    const { direction } = rest[end - 1] as Column
    const start = rest.slice(0, end).findLastIndex((column) => column.direction !== direction) + 1
    const before = rest.slice(0, start)
    const run = rest.slice(start, end)
    const withPlace = inclusive && end === rest.length
    steps.push({
      build: () =>
        and([
          ...before.map(({ name }) => equal(name)),
          sql`(${sql.join(run.map(({ name }) => sql.ref(name)))}) ${beyond(direction, withPlace)} (${slots(run.length)})`,
        ]),
      parameters: place.slice(0, end),
    })
    end = start
  }
  return steps
}

function beyond(direction: Direction, inclusive: boolean): RawBuilder<unknown> {
  return sql.raw(`${direction === 1 ? '>' : '<'}${inclusive ? '=' : ''}`)
}

function equal(name: string): RawBuilder<unknown> {
  return sql`${sql.ref(name)} = ${slot}`
}
