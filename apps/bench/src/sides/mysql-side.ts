import { formatId, parseId, type Bag } from 'looseleaf'
import { createPool, type Pool, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise'
import { idsByShard, nextVersion, placeEntry, type Placement } from './placement.ts'
import type { Side, StoredEntry } from './side.ts'

export interface MysqlSideOptions {
  /** A URL with a database for each shard. */
  readonly urls: readonly string[]
  /** Connections to each shard at the most. */
  readonly poolSize: number
  readonly placement: Placement
}

interface EntityRow extends RowDataPacket {
  readonly id: Buffer
  readonly version: number
  readonly body: Buffer
}

interface IndexRow extends RowDataPacket {
  readonly entity_id: Buffer
}

/** The program that a team would write with mysql2 and a pool a shard: a prepared statement a call, autocommit. */
export function openMysqlSide({ urls, poolSize, placement }: MysqlSideOptions): Side {
  const { router, codec, tables } = placement
  const pools = urls.map((uri) =>
    createPool({
      uri,
      connectionLimit: poolSize,
      maxPreparedStatements: 1000,
      supportBigNumbers: true,
      timezone: 'Z',
    }),
  )
  const poolOf = (shard: number): Pool => pools[shard] as Pool

  async function readRow(id: Uint8Array): Promise<EntityRow | undefined> {
    const [rows] = await poolOf(router.shardOfId(id)).execute<EntityRow[]>(
      `SELECT id, version, body FROM ${tables.entities} WHERE id = ?`,
      [id],
    )
    return rows[0]
  }

  const decode = (row: EntityRow): StoredEntry => ({ ...codec.decode(row.body), id: formatId(row.id) })

  /** One statement for each shard that has some of them, both at once. */
  async function readMany(ids: readonly Uint8Array[]): Promise<Map<string, StoredEntry>> {
    const found = new Map<string, StoredEntry>()
    await Promise.all(
      [...idsByShard(router, ids)].map(async ([shard, group]) => {
        const [rows] = await poolOf(shard).execute<EntityRow[]>(
          `SELECT id, version, body FROM ${tables.entities} WHERE id IN (${group.map(() => '?').join(', ')})`,
          group,
        )
        for (const row of rows) {
          const entry = decode(row)
          found.set(entry.id, entry)
        }
      }),
    )
    return found
  }

  return {
    name: 'hand-written',

    async put(entry) {
      const placed = placeEntry(placement, entry)
      const { id, version } = placed
      // Index rows first: an entity that is committed is found.
      await Promise.all([
        poolOf(placed.userShard).execute(
          `INSERT INTO ${tables.byUser} (user_id, published, entity_id, version) VALUES (?, ?, ?, ?)`,
          [placed.userId, placed.published, id, version],
        ),
        poolOf(placed.linkShard).execute(
          `INSERT INTO ${tables.byLink} (link, entity_id, version) VALUES (?, ?, ?)`,
          [placed.link, id, version],
        ),
      ])
      await poolOf(placed.shard).execute(
        `INSERT INTO ${tables.entities} (id, updated, version, body) VALUES (?, NOW(6), ?, ?)`,
        [id, version, placed.body],
      )
      return formatId(id)
    },

    async update(textId, change) {
      const id = parseId(textId)
      for (;;) {
        const row = await readRow(id)
        if (row === undefined) throw new Error(`There is no entry ${textId}.`)
        const bag: Bag = change(codec.decode(row.body))
        const [result] = await poolOf(router.shardOfId(id)).execute<ResultSetHeader>(
          `UPDATE ${tables.entities} SET updated = NOW(6), version = ?, body = ? WHERE id = ? AND version = ?`,
          [nextVersion(row.version), codec.encode(bag), id, row.version],
        )
        if (result.affectedRows === 1) return
      }
    },

    async get(id) {
      const row = await readRow(parseId(id))
      return row && decode(row)
    },

    async getMany(ids) {
      const found = await readMany(ids.map(parseId))
      return ids.map((id) => found.get(id))
    },

    async queryByUser(textId, limit) {
      const userId = parseId(textId)
      const [rows] = await poolOf(router.shardOfId(userId)).execute<IndexRow[]>(
        `SELECT entity_id FROM ${tables.byUser} WHERE user_id = ?
         ORDER BY published DESC, entity_id DESC LIMIT ${limit}`,
        [userId],
      )
      const ids = rows.map((row) => row.entity_id)
      const found = await readMany(ids)
      // A row may be older than its entry: what does not match is left out.
      return ids
        .map((id) => found.get(formatId(id)))
        .filter((entry) => entry?.['user_id'] === textId) as StoredEntry[]
    },

    settled: async () => {},
    async close() {
      await Promise.all(pools.map((pool) => pool.end()))
    },
  }
}
