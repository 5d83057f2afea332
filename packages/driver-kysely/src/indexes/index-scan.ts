import {
  directionsOf,
  type Direction,
  type IndexScan,
  type IndexTableSpec,
  type KeyRange,
} from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from '../database/flavor.ts'
import { columnNames, INCLUDED } from '../schema/schema.ts'
import type { StatementHints } from '../database/session.ts'
import { and, or, parameter, parameterList } from '../database/sql-parts.ts'
import { selectedColumns } from './index-row.ts'

/** A statement with its parameters. Statements of one `shape` have the same SQL. */
export interface ParameterizedSql {
  readonly shape: string
  build(): RawBuilder<unknown>
  /** Builds the statement as a part of a UNION, with one more column in front. Undefined if it needs a SELECT around it. */
  readonly buildPart?: BuildPart | undefined
  /** Parameters without those of `ownSession`. */
  readonly parameters: readonly unknown[]
  /**
   * Number of parameters before those of `ownSession`, for a statement that checks its session, alone and as the first part of a UNION.
   * Undefined if it does not.
   */
  readonly guardAt?: number | undefined
  readonly keep?: StatementHints['keep']
}

export type BuildPart = (column: RawBuilder<unknown>, isFirst: boolean) => RawBuilder<unknown>

/** A column of the key in the order of a scan. */
interface Column {
  /** Its name in the rows of the scan. */
  readonly name: string
  /** Its name within the statement. */
  readonly stored: string
  readonly direction: Direction
}

/** The tables of a scan. */
export interface ScanSource {
  /** Distinguishes the statements of this source from those of others. */
  readonly name: string
  readonly from: RawBuilder<unknown>
  /** Alias of the index table, if `from` has more than one table. */
  readonly alias?: string
  /** Columns of the other tables. */
  readonly joined?: readonly RawBuilder<unknown>[]
}

/** Additions to a SELECT that is a part of a UNION. */
interface UnionExtras {
  /** Column in front of the others. */
  readonly column?: RawBuilder<unknown>
  readonly isFirst?: boolean
}

/** Builds the condition for the rows of a range. */
export function rangeCondition(key: readonly string[], { prefix, lower, upper }: KeyRange): ParameterizedSql {
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
        ...bounds.map((operator) => sql`${column} ${sql.raw(operator)} ${parameter}`),
      ])
    },
    parameters,
  }
}

/**
 * Returns a function that builds the scans of one table. Their rows have no columns for the values of the prefix. `leading` are the
 * parameters of the `joined` columns.
 */
export function indexScans(
  spec: IndexTableSpec,
  flavor: Flavor,
  { name: sourceName, from, alias, joined = [] }: ScanSource = { name: 'scan', from: sql.table(spec.table) },
): (scan: IndexScan, leading?: readonly unknown[]) => ParameterizedSql {
  const key = [...columnNames(spec), 'entity_id']
  const stored = (name: string): string => (alias === undefined ? name : `${alias}.${name}`)
  // The SELECT has the converted value of a number under the name of its column.
  const storedKey = key.map((name, i) =>
    spec.columns[i]?.type === 'number' ? `${alias ?? spec.table}.${name}` : stored(name),
  )
  const directions: readonly Direction[] = [...directionsOf(spec.columns), 1]
  const sessionCheck = flavor.ownSession.only(sql`1`)
  const isPrepared = flavor.preparedParts > 0

  function restOf({ prefix, order }: IndexScan): readonly Column[] {
    const sign = order === 'asc' ? 1 : -1
    return key.slice(prefix.length).map((name, i) => {
      const direction = directions[prefix.length + i] as Direction
      return { name, stored: storedKey[prefix.length + i]!, direction: (sign * direction) as Direction }
    })
  }

  // The text is as short as it can be: parsing a UNION takes a server as long as finding its rows.
  function select(
    condition: readonly RawBuilder<unknown>[],
    rest: readonly Column[],
    included: boolean,
    { column, isFirst = false }: UnionExtras = {},
  ): RawBuilder<unknown> {
    const selected = [
      ...(column === undefined ? [] : [column]),
      selectedColumns(flavor, spec, { from: key.length - rest.length, alias }),
      sql.ref(stored('version')),
      ...(included ? [sql.ref(stored(INCLUDED))] : []),
      ...joined,
    ]
    return sql`SELECT ${sql.join(selected)} FROM ${from} WHERE ${and(isFirst ? [sessionCheck, ...condition] : condition)} ORDER BY ${orderBy(rest, true)} LIMIT ${parameter}`
  }

  function orderBy(rest: readonly Column[], inTable: boolean): RawBuilder<unknown> {
    // A key of a unique index has one row, so the entity id adds nothing, and MySQL would sort the whole range for it.
    const sorted = spec.unique && rest.length > 1 ? rest.slice(0, -1) : rest
    return sql.join(
      sorted.map(({ name, stored: own, direction }) => {
        const column = sql.ref(inTable ? own : name)
        return direction === 1 ? column : sql`${column} DESC`
      }),
    )
  }

  /** Returns the builders of one SELECT: alone, and as a part of a UNION. */
  function buildersOf(
    buildSelect: (extras: UnionExtras) => RawBuilder<unknown>,
    isGuarded = false,
  ): Pick<ParameterizedSql, 'build' | 'buildPart'> {
    return {
      build: () => buildSelect({ isFirst: isGuarded }),
      buildPart: flavor.orderedParts
        ? (column, isFirst) => sql`(${buildSelect({ column, isFirst: isGuarded && isFirst })})`
        : undefined,
    }
  }

  return (scan, leading = []) => {
    const { prefix, order, after, included = false } = scan
    // A client sends a number as a double, which a prepared LIMIT rejects.
    const limit = Number.isSafeInteger(scan.limit) ? BigInt(scan.limit) : scan.limit
    const inRange = rangeCondition(storedKey, scan)
    const shape = `${sourceName} ${order} ${inRange.shape}${included ? ' included' : ''}`
    if (after === undefined) {
      return {
        shape,
        ...buildersOf((extras) => select([inRange.build()], restOf(scan), included, extras), isPrepared),
        parameters: [...leading, ...inRange.parameters, limit],
        // In another session the number of this prepared scan may belong to one of another table.
        guardAt: isPrepared ? leading.length : undefined,
        keep: isPrepared ? 'scan' : undefined,
      }
    }
    const rest = restOf(scan)
    const { inclusive = false } = after
    const place = [...after.key.slice(prefix.length), after.entityId]
    if (!flavor.rowValuesSeek) {
      const afterPlace = expandedCondition(rest, place, inclusive)
      return {
        shape: `${shape} ${inclusive ? 'from' : 'after'}`,
        ...buildersOf((extras) => select([inRange.build(), afterPlace.build()], rest, included, extras)),
        parameters: [...leading, ...inRange.parameters, ...afterPlace.parameters, limit],
      }
    }
    const steps = rowValueSteps(rest, place, inclusive)
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
              )} ORDER BY ${orderBy(rest, false)} LIMIT ${parameter}`,
      parameters: [
        ...steps.flatMap(({ parameters }) => [...leading, ...inRange.parameters, ...parameters, limit]),
        ...(steps.length === 1 ? [] : [limit]),
      ],
    }
  }
}

type Condition = Pick<ParameterizedSql, 'build' | 'parameters'>

/**
 * Builds the condition for rows after a place, or from it, without row values: a > ? OR (a = ? AND b > ?) OR …
 * MySQL reads these as ranges of the key, and would read the whole table for row values.
 */
function expandedCondition(
  rest: readonly Column[],
  place: readonly unknown[],
  inclusive: boolean,
): Condition {
  const { stored: first, direction } = rest[0] as Column
  return {
    build: () =>
      and([
        sql`${sql.ref(first)} ${beyond(direction, true)} ${parameter}`,
        or(
          rest.map(
            ({ stored, direction: way }, i) =>
              sql`(${and([
                ...rest.slice(0, i).map((before) => equal(before.stored)),
                sql`${sql.ref(stored)} ${beyond(way, inclusive && i === rest.length - 1)} ${parameter}`,
              ])})`,
          ),
        ),
      ]),
    parameters: [place[0], ...rest.flatMap((_, i) => place.slice(0, i + 1))],
  }
}

/**
 * Builds conditions for rows after a place, or from it, which follow each other in the order of the scan: one for each run of
 * columns with the same direction, from the last run to the first. `(a, b) > (?, ?)` seeks in an index, but compares all of its
 * columns in one direction.
 */
function rowValueSteps(
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
          ...before.map(({ stored }) => equal(stored)),
          sql`(${sql.join(run.map(({ stored }) => sql.ref(stored)))}) ${beyond(direction, withPlace)} (${parameterList(run.length)})`,
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
  return sql`${sql.ref(name)} = ${parameter}`
}
