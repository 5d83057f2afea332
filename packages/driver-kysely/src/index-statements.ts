import type { IndexScan, IndexTableSpec, KeyRange } from '@looseleaf/core'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from './flavor.ts'
import { selectedColumns } from './index-row.ts'
import { columnNames } from './schema.ts'
import { and, or, slot, slotRows, slots } from './sql-parts.ts'

/** A statement together with its parameters; `shape` is the same for all that have the same SQL. */
export interface Stretch {
  readonly shape: string
  build(): RawBuilder<unknown>
  readonly parameters: readonly unknown[]
}

/** The statements of one index table. Parameters stand in the order in which they appear. */
export interface IndexStatements {
  /** The names of the columns that hold the key. */
  readonly columns: readonly string[]
  /** Parameters: of each row the key, entity id and version. */
  upsert(count: number): RawBuilder<unknown>
  /** Parameters: of each row the key, entity id and the version that it has to be below. */
  remove(count: number): RawBuilder<unknown>
  scan(scan: IndexScan): Stretch
  count(range: KeyRange): Stretch
}

export function indexStatements(spec: IndexTableSpec, flavor: Flavor): IndexStatements {
  const table = sql.table(spec.table)
  const columns = columnNames(spec)
  const key = [...columns, 'entity_id']
  const refs = (names: readonly string[]): RawBuilder<unknown> => sql.join(names.map((name) => sql.ref(name)))
  const version = sql.ref('version')
  const own = (name: string): RawBuilder<unknown> => sql.ref(`${spec.table}.${name}`)
  const selected = selectedColumns(flavor, spec)

  function within(range: KeyRange): Stretch {
    const { prefix, lower, upper } = range
    const column = sql.ref(key[prefix.length] as string)
    const bounds = [
      ...(lower === undefined ? [] : [{ operator: lower.inclusive ? '>=' : '>', value: lower.value }]),
      ...(upper === undefined ? [] : [{ operator: upper.inclusive ? '<=' : '<', value: upper.value }]),
    ]
    return {
      shape: `${prefix.length}${bounds.map(({ operator }) => operator).join('')}`,
      build: () =>
        and([
          ...prefix.map((_, i) => sql`${sql.ref(key[i] as string)} = ${slot}`),
          ...bounds.map(({ operator }) => sql`${column} ${sql.raw(operator)} ${slot}`),
        ]),
      parameters: [...prefix, ...bounds.map(({ value }) => value)],
    }
  }

  /** Rows strictly behind a place, by the columns `rest` in one direction. */
  function behind(rest: readonly string[], values: readonly unknown[], order: 'asc' | 'desc'): Stretch {
    const beyond = sql.raw(order === 'asc' ? '>' : '<')
    if (flavor.rowValuesSeek) {
      return {
        shape: 'after',
        build: () => sql`(${refs(rest)}) ${beyond} (${slots(rest.length)})`,
        parameters: values,
      }
    }
    // Spelled out, because a comparison of row values reads the whole range: a > ? OR (a = ? AND b > ?) OR …
    const first = rest[0] as string
    return {
      shape: 'after',
      build: () =>
        and([
          sql`${sql.ref(first)} ${beyond}= ${slot}`,
          or(
            rest.map(
              (name, i) =>
                sql`(${and([
                  ...rest.slice(0, i).map((equal) => sql`${sql.ref(equal)} = ${slot}`),
                  sql`${sql.ref(name)} ${beyond} ${slot}`,
                ])})`,
            ),
          ),
        ]),
      parameters: [values[0], ...rest.flatMap((_, i) => values.slice(0, i + 1))],
    }
  }

  return {
    columns,

    upsert: (count) => sql`
      INSERT INTO ${table} (${refs(key)}, version) VALUES ${slotRows(count, key.length + 1)}
      ${flavor.onDuplicate(key)}
      version = ${sql.raw(flavor.greatest)}(${sql.ref(`${spec.table}.version`)}, ${flavor.incoming('version')})`,

    remove: (count) => {
      const row = and([...key.map((name) => sql`${sql.ref(name)} = ${slot}`), sql`${version} < ${slot}`])
      return sql`
        DELETE ${flavor.deleteSource(table)} WHERE ${or(Array.from({ length: count }, () => sql`(${row})`))}`
    },

    scan({ order, after, limit, ...range }) {
      const stretch = within(range)
      const rest = key.slice(range.prefix.length)
      const place =
        after === undefined
          ? undefined
          : behind(rest, [...after.key.slice(range.prefix.length), after.entityId], order)
      const direction = sql.raw(order === 'asc' ? '' : ' DESC')
      // Where a key has one row, its columns say the order; MySQL would sort the whole range by one more.
      const sorted = spec.unique && rest.length > 1 ? rest.slice(0, -1) : rest
      return {
        shape: `scan ${order} ${stretch.shape} ${place?.shape ?? ''}`,
        build: () => sql`
          SELECT ${selected}, version FROM ${table}
          WHERE ${and([stretch.build(), ...(place === undefined ? [] : [place.build()])])}
          ORDER BY ${sql.join(sorted.map((name) => sql`${own(name)}${direction}`))} LIMIT ${slot}`,
        parameters: [...stretch.parameters, ...(place?.parameters ?? []), limit],
      }
    },

    count(range) {
      const stretch = within(range)
      return {
        shape: `count ${stretch.shape}`,
        build: () => sql`
          SELECT COUNT(DISTINCT entity_id) AS entities FROM ${table} WHERE ${stretch.build()}`,
        parameters: stretch.parameters,
      }
    },
  }
}
