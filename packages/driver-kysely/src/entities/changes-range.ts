import type { ChangesRange } from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from '../database/flavor.ts'
import { parameter } from '../database/sql-parts.ts'

/** Parts of a range that change its text. */
export interface RangeParts {
  readonly hasEnd: boolean
  readonly inPartitions: boolean
}

export function rangeParts({ until, of }: ChangesRange): RangeParts {
  return { hasEnd: until !== undefined, inPartitions: of !== undefined }
}

/** Returns the end of a SELECT of a range, from its WHERE on. Parameters: those of `rangeParameters`, the limit. */
export function rangeText(flavor: Flavor, { hasEnd, inPartitions }: RangeParts): RawBuilder<unknown> {
  const micros = flavor.updatedOf(parameter)
  const end = hasEnd ? sql` AND updated < ${micros}` : sql``
  // The key on `updated` contains `added_id`, so the server skips rows of other partitions without reading them.
  const partitions = inPartitions ? sql` AND (1 << (added_id % ${parameter})) & ${parameter} <> 0` : sql``
  return sql`
    WHERE updated >= ${micros} AND (updated > ${micros} OR added_id > ${parameter})${end}${partitions}
    ORDER BY updated, added_id LIMIT ${parameter}`
}

export function rangeParameters({ after: { updated, addedId }, until, of }: ChangesRange): readonly number[] {
  return [
    updated,
    updated,
    addedId,
    ...(until === undefined ? [] : [until]),
    ...(of === undefined ? [] : [of.count, bitsOf(of.some)]),
  ]
}

function bitsOf(numbers: readonly number[]): number {
  return numbers.reduce((bits, number) => bits + 2 ** number, 0)
}
