import Database from 'better-sqlite3'
import { formatId, parseId } from 'looseleaf'
import { idsByShard, nextVersion, placeEntry, type Placement, type PlacedEntry } from './placement.ts'
import type { Side, StoredEntry } from './side.ts'

export interface SqliteSideOptions {
  /** A file for each shard. */
  readonly files: readonly string[]
  readonly placement: Placement
}

interface EntityRow {
  readonly id: Buffer
  readonly version: number
  readonly body: Buffer
}

/**
 * The program that a team would write with better-sqlite3: prepared statements, write-ahead log, a flush at every commit.
 * The rows of a put that belong to one file share a transaction, for statements cost no round trip here.
 */
export function openSqliteSide({ files, placement }: SqliteSideOptions): Side {
  const { router, codec, tables } = placement
  const shards = files.map((file) => openShard(file, placement))
  const shardOf = (id: Uint8Array): Shard => shards[router.shardOfId(id)] as Shard
  const decode = (row: EntityRow): StoredEntry => ({ ...codec.decode(row.body), id: formatId(row.id) })

  function readMany(ids: readonly Uint8Array[]): Map<string, StoredEntry> {
    const found = new Map<string, StoredEntry>()
    for (const [shard, group] of idsByShard(router, ids)) {
      for (const row of (shards[shard] as Shard).readMany(tables.entities, group)) {
        const entry = decode(row)
        found.set(entry.id, entry)
      }
    }
    return found
  }

  return {
    name: 'hand-written',

    async put(entry) {
      const placed = placeEntry(placement, entry)
      // Files that only get index rows come first: an entity that is committed is found.
      const others = new Set([placed.userShard, placed.linkShard])
      others.delete(placed.shard)
      for (const shard of others) shards[shard]?.insert(placed, shard)
      shards[placed.shard]?.insert(placed, placed.shard)
      return formatId(placed.id)
    },

    async update(textId, change) {
      const id = parseId(textId)
      for (;;) {
        const shard = shardOf(id)
        const row = shard.read.get(id)
        if (row === undefined) throw new Error(`There is no entry ${textId}.`)
        const body = codec.encode(change(codec.decode(row.body)))
        if (shard.replace.run(nextVersion(row.version), body, id, row.version).changes === 1) return
      }
    },

    async get(textId) {
      const id = parseId(textId)
      const row = shardOf(id).read.get(id)
      return row && decode(row)
    },

    async getMany(ids) {
      const found = readMany(ids.map(parseId))
      return ids.map((id) => found.get(id))
    },

    async queryByUser(textId, limit) {
      const userId = parseId(textId)
      const ids = shardOf(userId)
        .byUser.all(userId, limit)
        .map((row) => row.entity_id)
      const found = readMany(ids)
      // A row may be older than its entry: what does not match is left out.
      return ids
        .map((id) => found.get(formatId(id)))
        .filter((entry) => entry?.['user_id'] === textId) as StoredEntry[]
    },

    settled: async () => {},
    async close() {
      for (const shard of shards) shard.close()
    },
  }
}

interface Shard {
  readonly read: Database.Statement<[Uint8Array], EntityRow>
  readonly replace: Database.Statement<[number, Uint8Array, Uint8Array, number]>
  readonly byUser: Database.Statement<[Uint8Array, number], { readonly entity_id: Buffer }>
  readMany(table: string, ids: readonly Uint8Array[]): EntityRow[]
  /** Inserts those rows of a new entry that belong to this shard, all or none. */
  insert(placed: PlacedEntry, shard: number): void
  close(): void
}

const NOW_MICROS = `CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER) * 1000`

function openShard(file: string, { tables }: Placement): Shard {
  const database = new Database(file, { timeout: 5_000 })
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  const readMany = new Map<number, Database.Statement<Uint8Array[], EntityRow>>()
  const entity = database.prepare<[Uint8Array, number, Uint8Array]>(
    `INSERT INTO ${tables.entities} (id, updated, version, body) VALUES (?, ${NOW_MICROS}, ?, ?)`,
  )
  const userRow = database.prepare<[Uint8Array, number, Uint8Array, number]>(
    `INSERT INTO ${tables.byUser} (user_id, published, entity_id, version) VALUES (?, ?, ?, ?)`,
  )
  const linkRow = database.prepare<[Uint8Array, Uint8Array, number]>(
    `INSERT INTO ${tables.byLink} (link, entity_id, version) VALUES (?, ?, ?)`,
  )
  return {
    read: database.prepare(`SELECT id, version, body FROM ${tables.entities} WHERE id = ?`),
    replace: database.prepare(
      `UPDATE ${tables.entities} SET updated = ${NOW_MICROS}, version = ?, body = ? WHERE id = ? AND version = ?`,
    ),
    byUser: database.prepare(
      `SELECT entity_id FROM ${tables.byUser} WHERE user_id = ? ORDER BY published DESC, entity_id DESC LIMIT ?`,
    ),
    readMany(table, ids) {
      let statement = readMany.get(ids.length)
      if (statement === undefined) {
        const list = ids.map(() => '?').join(', ')
        statement = database.prepare(`SELECT id, version, body FROM ${table} WHERE id IN (${list})`)
        readMany.set(ids.length, statement)
      }
      return statement.all(...ids)
    },
    insert: database.transaction((placed: PlacedEntry, shard: number): void => {
      const { id, version } = placed
      if (placed.userShard === shard) userRow.run(placed.userId, placed.published, id, version)
      if (placed.linkShard === shard) linkRow.run(placed.link, id, version)
      if (placed.shard === shard) entity.run(id, version, placed.body)
    }),
    close: () => {
      database.close()
    },
  }
}
