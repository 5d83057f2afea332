import type { IndexRow, IndexTableSpec, JoinedRow, VersionedRow } from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from '../database/flavor.ts'
import { toNumber } from '../database/row-values.ts'
import type { Row } from '../database/session.ts'
import { boundedBody, boundedRow, type BodyLengths, type SelectedRow } from '../entities/bounded-rows.ts'
import { indexScans } from './index-scan.ts'
import type { IndexStatements } from './index-statements.ts'

/** Columns of the joined entity. No column of an index table has such a name. */
const VERSION = '$version'
const UPDATED = '$updated'
const BODY = '$body'

/** Short aliases, because parsing a long UNION takes a server as long as finding its rows. */
const ROW = 'x'
const ENTITY = 'e'

/** Returns the functions that build scans of an index table whose rows come with their entities. */
export function joinedScans(
  spec: IndexTableSpec,
  flavor: Flavor,
  entityTable: string,
): Pick<IndexStatements, 'scanEntities' | 'scanVersions'> {
  const ofEntity = (column: string): RawBuilder<unknown> => sql.ref(`${ENTITY}.${column}`)
  const rows = flavor.selectSource(sql`${sql.table(spec.table)} AS ${sql.ref(ROW)}`, 'PRIMARY')
  const entities = flavor.selectSource(sql`${sql.table(entityTable)} AS ${sql.ref(ENTITY)}`, 'id')
  const from = sql`${rows} LEFT JOIN ${entities} ON ${ofEntity('id')} = ${sql.ref(`${ROW}.entity_id`)}`
  const version = sql`${ofEntity('version')} AS ${sql.ref(VERSION)}`
  const updated = sql`${flavor.microsOf(ofEntity('updated'))} AS ${sql.ref(UPDATED)}`
  const body = sql`${boundedBody(ofEntity('body'))} AS ${sql.ref(BODY)}`
  const withBodies = indexScans(spec, flavor, {
    name: 'entities',
    from,
    alias: ROW,
    joined: [version, updated, body],
  })
  const withVersions = indexScans(spec, flavor, { name: 'versions', from, alias: ROW, joined: [version] })
  return {
    scanEntities: ({ maxBody, ...scan }) => withBodies(scan, [maxBody]),
    scanVersions: (scan) => withVersions(scan),
  }
}

/** Returns the entities whose bodies `scanEntities` has omitted. */
export function omittedEntities(found: readonly (readonly Row[])[]): readonly SelectedRow[] {
  const omitted: SelectedRow[] = []
  for (const rows of found)
    for (const row of rows) {
      const body = row[BODY] as Uint8Array | null
      if (body?.length === 0) omitted.push(joinedEntity(row)!)
    }
  return omitted
}

/** Adds the entity, as `scanEntities` selects it, to the index row that was read from the same row. */
export function joinedRow(row: IndexRow, selected: Row, lengths: BodyLengths): JoinedRow {
  const entity = joinedEntity(selected)
  return { ...row, entity: entity && boundedRow(entity, lengths) }
}

/** Adds the version of the entity, as `scanVersions` selects it. */
export function versionedRow(row: IndexRow, { [VERSION]: version }: Row): VersionedRow {
  return { ...row, entityVersion: version === null ? undefined : toNumber(version) }
}

function joinedEntity({
  entity_id: id,
  [VERSION]: version,
  [UPDATED]: updated,
  [BODY]: body,
}: Row): SelectedRow | undefined {
  return version === null
    ? undefined
    : { id: id as Uint8Array, version, updated, body: body as Uint8Array | null }
}
