import { createHash } from 'node:crypto'
import { formatId, parseId, type Bag } from 'looseleaf'
import {
  createConnection,
  createPool,
  type Pool,
  type ResultSetHeader,
  type RowDataPacket,
} from 'mysql2/promise'
import { indexesOf, type LayoutName } from '../workload/indexes.ts'
import { newId, type Ref } from '../workload/ids.ts'
import { byShard, nextVersion } from './index-rows.ts'
import type { ListedEntry, Side, SideDefinition, StoredEntry } from './side.ts'

interface DocumentRow extends RowDataPacket {
  readonly id: Buffer
  readonly version: number
  readonly doc: string | Bag
}

/**
 * A JSON column with indexed generated columns, as the manuals of MariaDB and MySQL recommend, in one table per shard. All entries of a
 * user are on one shard, so a write or a page takes one statement. A get also knows the user; otherwise it would have to ask all shards.
 */
export const json: SideDefinition = {
  name: 'json',
  title: 'JSON column',
  server: 'mariadb',
  // MariaDB cannot index the elements of an array, and a unique index does not reach across shards.
  without: ['tag', 'insertUnique', 'queue', 'wholeQueue'],
  async create(databases, layout) {
    for (const uri of databases) {
      const connection = await createConnection({ uri })
      await connection.query(tableOf(layout))
      await connection.end()
    }
  },
  open: async (databases) => openSide(databases),
}

/** Generated columns are STORED. With VIRTUAL ones, a page took more server CPU, count and put took the same, and an entity took less space. */
function tableOf(layout: LayoutName): string {
  const indexes = indexesOf(layout).flatMap((index) => index.json ?? [])
  const columns = Object.assign({}, ...indexes.map((index) => index.columns)) as Record<string, string>
  return `CREATE TABLE entries (
    ${[
      'id BINARY(16) NOT NULL PRIMARY KEY',
      'version BIGINT UNSIGNED NOT NULL',
      'doc JSON NOT NULL',
      ...Object.entries(columns).map(
        ([name, type]) => `${name} ${type} AS (JSON_VALUE(doc, '$.${name}')) STORED`,
      ),
      ...indexes.map(({ key }) => `KEY (${key.join(', ')})`),
    ].join(',\n    ')}
  )`
}

/** The driver accepts buffers only. */
const bytesOf = (id: string): Buffer => Buffer.from(parseId(id))

/** Returns the shard of all posts or entries of a user. */
export function jsonShardOf(user: string, shards: number): number {
  return createHash('sha1').update(user).digest().readUInt32BE() % shards
}

function openSide(databases: readonly string[]): Side {
  const pools = databases.map((uri) =>
    createPool({
      uri,
      connectionLimit: 32,
      maxPreparedStatements: 1000,
      supportBigNumbers: true,
      timezone: 'Z',
    }),
  )
  const shards = new Map<string, number>()
  const shardOf = (user: string): number => {
    let shard = shards.get(user)
    if (shard === undefined) shards.set(user, (shard = jsonShardOf(user, pools.length)))
    return shard
  }
  const poolOf = (user: string): Pool => pools[shardOf(user)] as Pool

  const decode = (row: DocumentRow): StoredEntry =>
    Object.assign((typeof row.doc === 'string' ? JSON.parse(row.doc) : row.doc) as StoredEntry, {
      id: formatId(row.id),
    })

  async function read(user: string, rest: string, values: (string | Uint8Array)[]): Promise<StoredEntry[]> {
    const [rows] = await poolOf(user).execute<DocumentRow[]>(`SELECT id, doc FROM entries ${rest}`, values)
    return rows.map(decode)
  }

  const newest = 'ORDER BY published DESC, id DESC LIMIT'
  const page = (user: string, limit: number): Promise<StoredEntry[]> =>
    read(user, `WHERE user_id = ? ${newest} ${limit}`, [user])

  return {
    async fill(entries) {
      const groups = byShard(entries, ([{ user }]) => shardOf(user))
      await Promise.all(
        [...groups].map(([shard, group]) => {
          const rows = group.map(([{ id }, entry]) => [bytesOf(id), nextVersion(0), JSON.stringify(entry)])
          return (pools[shard] as Pool).query('INSERT INTO entries (id, version, doc) VALUES ?', [rows])
        }),
      )
    },
    async insert(entry) {
      const ref = { id: newId(), user: entry.user_id }
      await poolOf(ref.user).execute('INSERT INTO entries (id, version, doc) VALUES (?, ?, ?)', [
        bytesOf(ref.id),
        nextVersion(0),
        JSON.stringify(entry),
      ])
      return ref
    },
    async put({ id, user }, entry) {
      await poolOf(user).execute(
        `INSERT INTO entries (id, version, doc) VALUES (?, ?, ?)
         ON DUPLICATE KEY UPDATE version = GREATEST(version + 1, VALUES(version)), doc = VALUES(doc)`,
        [bytesOf(id), nextVersion(0), JSON.stringify(entry)],
      )
    },
    async update({ id, user }, change) {
      for (;;) {
        const [rows] = await poolOf(user).execute<DocumentRow[]>(
          'SELECT id, version, doc FROM entries WHERE id = ?',
          [bytesOf(id)],
        )
        const row = rows[0]
        if (row === undefined) throw new Error(`There is no entry ${id}.`)
        const { id: _, ...bag } = decode(row)
        const [result] = await poolOf(user).execute<ResultSetHeader>(
          'UPDATE entries SET version = ?, doc = ? WHERE id = ? AND version = ?',
          [nextVersion(row.version), JSON.stringify(change(bag)), row.id, row.version],
        )
        if (result.affectedRows === 1) return
      }
    },
    async delete({ id, user }) {
      await poolOf(user).execute('DELETE FROM entries WHERE id = ?', [bytesOf(id)])
    },
    get: async ({ id, user }) => (await read(user, 'WHERE id = ?', [bytesOf(id)]))[0],
    async getMany(refs) {
      const found = new Map<string, StoredEntry>()
      await Promise.all(
        [...byShard(refs, ({ user }) => shardOf(user)).values()].map(async (group: Ref[]) => {
          const ids = group.map(({ id }) => bytesOf(id))
          const where = `WHERE id IN (${ids.map(() => '?').join(', ')})`
          for (const entry of await read((group[0] as Ref).user, where, ids)) found.set(entry.id, entry)
        }),
      )
      return refs.map(({ id }) => found.get(id))
    },
    page,
    async list(user, limit) {
      const [rows] = await poolOf(user).execute<RowDataPacket[]>(
        `SELECT id, title, link FROM entries WHERE user_id = ? ${newest} ${limit}`,
        [user],
      )
      return rows.map(({ id, title, link }) => ({ id: formatId(id as Buffer), title, link }) as ListedEntry)
    },
    async pages(user, before, limit, pages) {
      const found: StoredEntry[] = []
      let values: (string | Uint8Array)[] = [before.toISOString()]
      let range = 'published < ?'
      for (let number = 0; number < pages; number++) {
        const items = await read(user, `WHERE user_id = ? AND ${range} ${newest} ${limit}`, [user, ...values])
        found.push(...items)
        const last = items.at(-1)
        if (last === undefined || items.length < limit) break
        const published = last['published'] as unknown as string
        range = 'published <= ? AND (published < ? OR id < ?)'
        values = [published, published, bytesOf(last.id)]
      }
      return found
    },
    pageOfEach: (users, limit) => Promise.all(users.map((user) => page(user, limit))),
    async count(user) {
      const [rows] = await poolOf(user).execute<RowDataPacket[]>(
        'SELECT COUNT(*) AS entries FROM entries WHERE user_id = ?',
        [user],
      )
      return rows[0]?.['entries'] as number
    },
    async newest(limit) {
      const pages = await Promise.all(
        pools.map((pool) => pool.execute<DocumentRow[]>(`SELECT id, doc FROM entries ${newest} ${limit}`)),
      )
      const entries = pages.flatMap(([rows]) => rows.map(decode))
      return entries
        .toSorted((a, b) => ((a['published'] as Date) < (b['published'] as Date) ? 1 : -1))
        .slice(0, limit)
    },
    settled: async () => {},
    async close() {
      await Promise.all(pools.map((pool) => pool.end()))
    },
  }
}
