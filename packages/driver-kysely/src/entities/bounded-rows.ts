import { idKey, type BoundedRow } from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'
import { toNumber } from '../database/row-values.ts'
import type { Call, Row } from '../database/session.ts'
import { parameter } from '../database/sql-parts.ts'
import type { EntityCalls } from './entity-calls.ts'

/**
 * Selects a body, or zero bytes for one that is too long. Zero bytes can stand for an omitted body, since no codec writes an empty one. A
 * column with the length made reads 5 % slower. Parameter: the longest body in bytes.
 */
export function boundedBody(body: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`CASE WHEN LENGTH(${body}) > ${parameter} THEN X'' ELSE ${body} END`
}

/** Lengths of bodies that were omitted, by `idKey`. */
export type BodyLengths = ReadonlyMap<string, Row>

const NO_LENGTHS: BodyLengths = new Map()

/** An entity as `boundedBody` selects it. */
export interface SelectedRow {
  readonly id: Uint8Array
  readonly version: unknown
  readonly updated: unknown
  readonly body: Uint8Array | null
}

/** Reads the lengths of the bodies that were omitted from these rows. Sends nothing if there are none. */
export async function lengthsOf(
  { select }: Pick<EntityCalls, 'select'>,
  rows: Iterable<Pick<SelectedRow, 'id' | 'body'>>,
  call: Call,
): Promise<BodyLengths> {
  const ids: Uint8Array[] = []
  for (const { id, body } of rows) if (body?.length === 0) ids.push(id)
  return ids.length === 0 ? NO_LENGTHS : select('bodyLengths', ids, call)
}

export function boundedRow({ id, version, updated, body }: SelectedRow, lengths: BodyLengths): BoundedRow {
  const isIncluded = body?.length !== 0
  return {
    id,
    version: toNumber(version),
    updated: toNumber(updated),
    body: isIncluded ? body : undefined,
    // 0 if the entity has become a tombstone or was purged between the two reads.
    bodyBytes: isIncluded ? (body?.length ?? 0) : toNumber(lengths.get(idKey(id))?.body_bytes ?? 0),
  }
}

/** Converts a row of the entity table. */
export function selectedRow(row: Row): SelectedRow {
  return {
    id: row.id as Uint8Array,
    version: row.version,
    updated: row.updated_micros,
    body: row.body as Uint8Array | null,
  }
}
