import type { EntityChecksum, EntityTable } from '@looseleaf/core/internal'
import { toCount, toNumber } from '../database/row-values.ts'
import type { Row } from '../database/session.ts'
import { checkWriteRows, idChunks, MAX_WRITE_ROWS } from '../database/sql-parts.ts'
import { rangeParameters, rangeParts } from './changes-range.ts'
import { rowsOfIds, sortedById, type EntityCalls, type EntityTableOptions } from './entity-calls.ts'

/** The calls that copy rows from shard to shard, and compare the copies. */
export type EntityCopies = Pick<EntityTable, 'receive' | 'discard' | 'pageOfChecksums' | 'checksums'>

export function createEntityCopies(
  { session, flavor, table }: EntityTableOptions,
  { statements, reading, writing, select, refuseStaleEpoch }: EntityCalls,
): EntityCopies {
  const { parameters: sessionParameters } = flavor.ownSession

  return {
    async receive(rows, call) {
      if (rows.length === 0) return
      checkWriteRows(table, rows.length)
      const { epoch, updated, after } = call
      const earlier = after === undefined ? [] : [after.id, after.updated]
      const parameters = sortedById(rows).flatMap<unknown>(({ id, version, body }, i) =>
        i === 0
          ? [id, ...sessionParameters, version, epoch, updated, ...earlier, updated, body]
          : [id, version, updated, body],
      )
      // Full batches follow each other, and take two thirds of the time without parsing.
      const keep = rows.length === MAX_WRITE_ROWS ? ('common' as const) : undefined
      const isAfter = after !== undefined
      const query = session.shape(
        `receive ${rows.length} ${isAfter}`,
        () => statements.receive(rows.length, isAfter),
        { keep },
      )
      await session.run(query, parameters, writing(call))
    },

    async discard(ids, call) {
      if (ids.length === 0) return 0
      checkWriteRows(table, ids.length)
      // So few ids are one chunk, hence one atomic statement.
      const [chunk = []] = idChunks(ids)
      const query = session.shape(`discard ${chunk.length}`, () => statements.discard(chunk.length))
      const parameters = [...sessionParameters, ...chunk, call.epoch]
      const discarded = toCount((await session.run(query, parameters, writing(call))).numAffectedRows)
      if (discarded === 0) await refuseStaleEpoch(call.epoch, reading(call))
      return discarded
    },

    async pageOfChecksums(range, limit, call) {
      const parts = rangeParts(range)
      const query = session.shape(`pageOfChecksums ${parts.hasEnd} ${parts.inPartitions}`, () =>
        statements.pageOfChecksums(parts),
      )
      const { rows } = await session.run(query, [...rangeParameters(range), limit], reading(call))
      return rows.map(entityChecksum)
    },

    async checksums(ids, call) {
      const found = await select('checksums', ids, reading(call))
      return rowsOfIds(ids, found, entityChecksum)
    },
  }
}

function entityChecksum(row: Row): EntityChecksum {
  return {
    id: row.id as Uint8Array,
    version: toNumber(row.version),
    updated: toNumber(row.updated_micros),
    addedId: toNumber(row.added_id),
    bodyBytes: toNumber(row.body_bytes ?? 0),
    checksum: toNumber(row.checksum ?? 0),
  }
}
