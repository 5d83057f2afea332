import type { ShardSizes } from '@looseleaf/core/internal'
import { toNumber, toText } from '../database/row-values.ts'
import type { Row } from '../database/session.ts'

/** Reads the rows of a flavor's statement `sizes`. */
export function sizesOf(rows: readonly Row[], entityTable: string): ShardSizes {
  const known = (value: unknown): number | undefined =>
    value === null || value === undefined ? undefined : toNumber(value)
  const tables = new Map<string, { readonly rows: number; readonly bytes: number }>()
  let entities: number | undefined
  let sum = 0
  let whole: number | undefined
  for (const row of rows) {
    const [count, bytes] = [known(row['estimate']), known(row['bytes'])]
    if (row['name'] === null) {
      whole = bytes
      continue
    }
    const name = toText(row['name'])
    if (name === entityTable) entities = count
    // A server may store names of tables in lower case.
    else if (name === entityTable.toLowerCase()) entities ??= count
    if (count !== undefined && bytes !== undefined) tables.set(name, { rows: count, bytes })
    sum += bytes ?? 0
  }
  return { bytes: whole ?? sum, entities, tables }
}
