import type { CodecEntryTable, StoredCodecEntry } from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from '../database/flavor.ts'
import { toNumber, toText } from '../database/row-values.ts'
import { CODEC_TABLE } from '../database/table-names.ts'
import { callsWith, type Row, type Session } from '../database/session.ts'
import { parameter, parameterList } from '../database/sql-parts.ts'

const table = sql.table(CODEC_TABLE)
const columns = sql`id, kind, bytes, added`

const { reading, writing } = callsWith({
  'no-table': ['NOT_MIGRATED', 'the table of shapes and dictionaries is missing; create the tables first.'],
})

export function createCodecEntryTable(session: Session, flavor: Flavor): CodecEntryTable {
  return {
    async all(options) {
      const shape = session.shape(
        'codec entries all',
        () => sql`SELECT ${columns} FROM ${table} ORDER BY added, id`,
      )
      const { rows } = await session.run(shape, [], reading(options))
      return rows.map(toCodecEntry)
    },

    async read(ids, options) {
      if (ids.length === 0) return []
      const shape = session.shape(
        `codec entries read ${ids.length}`,
        () => sql`SELECT ${columns} FROM ${table} WHERE id IN (${parameterList(ids.length)})`,
      )
      const { rows } = await session.run(shape, ids, reading(options))
      return rows.map(toCodecEntry)
    },

    async add(entries, options) {
      // One statement each: a store adds few in its life, and each may be long.
      for (const { id, kind, bytes } of entries) {
        const shape = session.shape('codec entry add', () => add(flavor))
        await session.run(shape, [id, kind, bytes], writing(options))
      }
    },
  }
}

/** Adds a codec entry; an existing one stays unchanged. Parameters: id, kind, bytes. */
function add(flavor: Flavor): RawBuilder<unknown> {
  return sql`
    INSERT INTO ${table} (id, kind, bytes, added) VALUES (${parameter}, ${parameter}, ${parameter}, ${flavor.nowMicros})
    ${flavor.onDuplicate(['id'])} kind = ${sql.ref(`${CODEC_TABLE}.kind`)}`
}

function toCodecEntry(row: Row): StoredCodecEntry {
  return {
    id: toText(row.id),
    kind: toText(row.kind),
    bytes: row.bytes as Uint8Array,
    added: toNumber(row.added),
  }
}
