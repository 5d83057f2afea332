import { formatId, msgpackZlibCodec, parseId, type Bag } from 'looseleaf'
import { createPool, type Pool, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise'
import type { Entry } from '../workload/entry.ts'
import { insertRowsOf } from '../bulk/multi-row-insert.ts'
import { tableRowsOf } from '../bulk/table-rows.ts'
import {
  benchIndexes,
  isQueue,
  micros,
  textKey,
  type BenchIndex,
  type KeyValue,
  type LayoutName,
} from '../workload/indexes.ts'
import {
  byShard,
  createPlacement,
  includedOf,
  nextVersion,
  rowsOf,
  rowsWithout,
  type IndexRow,
  type Placement,
} from './index-rows.ts'
import { looseleaf } from './looseleaf-side.ts'
import { nearByHand } from './near-by-hand.ts'
import { createJobTable, queueByHand } from './queue-by-hand.ts'
import type { Side, SideDefinition, StoredEntry } from './side.ts'

interface EntityRow extends RowDataPacket {
  readonly id: Buffer
  readonly version: number
  readonly body: Buffer
}

interface ScannedRow extends RowDataPacket {
  readonly entity_id: Buffer
  readonly published: number
}

/** Largest number of connections per shard. */
export const POOL_SIZE = 32

/**
 * The program that a team would write by hand: mysql2 with a pool per shard, on Looseleaf's tables. It uses a prepared statement per
 * call, autocommit, index rows before entities, and Looseleaf's codec.
 */
export const handWritten: SideDefinition = {
  name: 'hand-written',
  title: 'hand-written mysql2',
  server: 'mariadb',
  async create(databases, layout) {
    await looseleaf.create(databases, layout)
    if (isQueue(layout)) await createJobTable(databases, layout)
  },
  open: async (databases, layout) => openSide(databases, createPlacement(databases.length, layout), layout),
}

function openSide(databases: readonly string[], placement: Placement, layout: LayoutName): Side {
  const { router } = placement
  const codec = msgpackZlibCodec()
  const pools = databases.map((uri) =>
    createPool({
      uri,
      connectionLimit: POOL_SIZE,
      maxPreparedStatements: 1000,
      supportBigNumbers: true,
      timezone: 'Z',
    }),
  )
  const poolOf = (shard: number): Pool => pools[shard] as Pool
  const ownPool = (id: Uint8Array): Pool => poolOf(router.shardOfId(id))

  async function readRow(id: Uint8Array): Promise<EntityRow | undefined> {
    const [rows] = await ownPool(id).execute<EntityRow[]>(
      'SELECT id, version, body FROM entities WHERE id = ?',
      [id],
    )
    return rows[0]
  }

  const decode = (row: EntityRow): StoredEntry => ({ ...codec.decode(row.body), id: formatId(row.id) })

  /** Reads by one statement per shard, in parallel. Returns entries in the order of the ids. */
  async function readMany(ids: readonly Uint8Array[]): Promise<(StoredEntry | undefined)[]> {
    const found = new Map<string, StoredEntry>()
    await Promise.all(
      [...byShard(ids, (id) => router.shardOfId(id))].map(async ([shard, group]) => {
        const [rows] = await poolOf(shard).execute<EntityRow[]>(
          `SELECT id, version, body FROM entities WHERE id IN (${group.map(() => '?').join(', ')})`,
          group,
        )
        for (const row of rows) {
          const entry = decode(row)
          found.set(entry.id, entry)
        }
      }),
    )
    return ids.map((id) => found.get(formatId(id)))
  }

  async function insertRows(
    rows: readonly IndexRow[],
    id: Uint8Array,
    version: number,
    entry: Entry,
  ): Promise<void> {
    // Claims go first, so that a rejected claim ends the insert before anything else is written.
    const claims = rows.filter(({ index }) => index.claims !== undefined)
    await Promise.all(
      claims.map(({ index, shard, key }) =>
        insertInto(shard, index.claims as string, index.columns, [...key, id, version]),
      ),
    )
    await Promise.all(
      rows.map(({ index, shard, key }) => {
        const included = includedOf(index, entry)
        const columns = included === undefined ? index.columns : [...index.columns, 'included']
        const values = included === undefined ? key : [...key, codec.encode(included)]
        return insertInto(shard, index.table, columns, [...values, id, version])
      }),
    )
  }

  async function insertInto(
    shard: number,
    table: string,
    columns: readonly string[],
    values: KeyValue[],
  ): Promise<void> {
    const names = [...columns, 'entity_id', 'version']
    await poolOf(shard).execute(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
      values,
    )
  }

  async function deleteRows(rows: readonly IndexRow[], id: Uint8Array): Promise<void> {
    await Promise.all(
      rows.flatMap(({ index, shard, key }) =>
        [index.table, ...(index.claims === undefined ? [] : [index.claims])].map((table) =>
          poolOf(shard).execute(
            `DELETE FROM ${table} WHERE ${index.columns.map((column) => `${column} = ?`).join(' AND ')} AND entity_id = ?`,
            [...key, id],
          ),
        ),
      ),
    )
  }

  async function insertEntity(id: Uint8Array, version: number, entry: Bag): Promise<void> {
    await ownPool(id).execute('INSERT INTO entities (id, updated, version, body) VALUES (?, NOW(6), ?, ?)', [
      id,
      version,
      codec.encode(entry),
    ])
  }

  /** Returns false if another write has changed the version since it was read. */
  async function swap(id: Uint8Array, base: number, version: number, bag: Bag): Promise<boolean> {
    const [result] = await ownPool(id).execute<ResultSetHeader>(
      'UPDATE entities SET updated = NOW(6), version = ?, body = ? WHERE id = ? AND version = ?',
      [version, codec.encode(bag), id, base],
    )
    return result.affectedRows === 1
  }

  async function insert(id: Uint8Array, entry: Entry): Promise<void> {
    const version = nextVersion(0)
    // Index rows go first, so that queries find every committed entity.
    await insertRows(rowsOf(placement, id, entry), id, version, entry)
    await insertEntity(id, version, entry)
  }

  /** Returns rows of an index, newest first, from a position in it. */
  async function scan(
    shard: number,
    { table, columns }: BenchIndex,
    first: readonly KeyValue[],
    limit: number,
    from?: { readonly before: number; readonly id?: Uint8Array },
  ): Promise<ScannedRow[]> {
    const conditions = columns.slice(0, first.length).map((column) => `${column} = ?`)
    const values: KeyValue[] = [...first]
    if (from?.id !== undefined) {
      conditions.push('published <= ?', '(published < ? OR entity_id < ?)')
      values.push(from.before, from.before, from.id)
    } else if (from !== undefined) {
      conditions.push('published < ?')
      values.push(from.before)
    }
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
    const [rows] = await poolOf(shard).execute<ScannedRow[]>(
      `SELECT entity_id, published FROM ${table} ${where} ORDER BY published DESC, entity_id DESC LIMIT ${limit}`,
      values,
    )
    return rows
  }

  /** Leaves out entries that do not match, because a row may be older than its entry. */
  async function entriesOf(
    rows: readonly ScannedRow[],
    matches: (entry: StoredEntry) => boolean,
  ): Promise<StoredEntry[]> {
    const found = await readMany(rows.map((row) => row.entity_id))
    return found.filter((entry) => entry !== undefined && matches(entry)) as StoredEntry[]
  }

  async function page(user: string, limit: number): Promise<StoredEntry[]> {
    const id = parseId(user)
    const rows = await scan(router.shardOfId(id), benchIndexes.user, [id], limit)
    return entriesOf(rows, (entry) => entry['user_id'] === user)
  }

  return {
    async fill(entries) {
      const all = entries.map(([ref, entry]) => ({ id: parseId(ref.id), entry }))
      await insertRowsOf(
        pools,
        tableRowsOf(placement, all, (bag) => codec.encode(bag)),
      )
    },

    async insert(entry) {
      const id = router.newId()
      await insert(id, entry)
      return { id: formatId(id), user: entry.user_id }
    },

    async put(ref, entry) {
      const id = parseId(ref.id)
      for (;;) {
        const row = await readRow(id)
        if (row === undefined) return insert(id, entry)
        const version = nextVersion(row.version)
        const [before, after] = [
          rowsOf(placement, id, codec.decode(row.body) as Entry),
          rowsOf(placement, id, entry),
        ]
        await insertRows(rowsWithout(after, before), id, version, entry)
        if (await swap(id, row.version, version, entry)) return deleteRows(rowsWithout(before, after), id)
        await deleteRows(rowsWithout(after, before), id)
      }
    },

    async update(ref, change) {
      const id = parseId(ref.id)
      for (;;) {
        const row = await readRow(id)
        if (row === undefined) throw new Error(`There is no entry ${ref.id}.`)
        if (await swap(id, row.version, nextVersion(row.version), change(codec.decode(row.body)))) return
      }
    },

    async delete(ref) {
      const id = parseId(ref.id)
      const row = await readRow(id)
      if (row === undefined) return
      await ownPool(id).execute('DELETE FROM entities WHERE id = ? AND version = ?', [id, row.version])
      await deleteRows(rowsOf(placement, id, codec.decode(row.body) as Entry), id)
    },

    async get({ id }) {
      const row = await readRow(parseId(id))
      return row && decode(row)
    },

    getMany: (refs) => readMany(refs.map(({ id }) => parseId(id))),
    page,

    async list(user, limit) {
      const id = parseId(user)
      const [rows] = await ownPool(id).execute<(ScannedRow & { readonly included: Buffer })[]>(
        `SELECT entity_id, included FROM ${benchIndexes.list.table} WHERE user_id = ?
         ORDER BY published DESC, entity_id DESC LIMIT ${limit}`,
        [id],
      )
      return rows.map(({ entity_id, included }) => {
        const { title, link } = codec.decode(included) as Entry
        return { id: formatId(entity_id), title, link }
      })
    },

    async pages(user, before, limit, pages) {
      const id = parseId(user)
      const found: StoredEntry[] = []
      let from: { before: number; id?: Uint8Array } = { before: micros(before) }
      for (let number = 0; number < pages; number++) {
        const rows = await scan(router.shardOfId(id), benchIndexes.user, [id], limit, from)
        found.push(...(await entriesOf(rows, (entry) => entry['user_id'] === user)))
        const last = rows.at(-1)
        if (last === undefined || rows.length < limit) break
        from = { before: last.published, id: last.entity_id }
      }
      return found
    },

    async newest(limit) {
      const rows = (
        await Promise.all(pools.map((_, shard) => scan(shard, benchIndexes.time, [], limit)))
      ).flat()
      rows.sort((a, b) => b.published - a.published)
      return entriesOf(rows.slice(0, limit), () => true)
    },

    async tagged(tag, limit) {
      const key = textKey(tag)
      const rows = await scan(router.shardOfKey(key), benchIndexes.tag, [key], limit)
      return entriesOf(rows, (entry) => (entry['tags'] as string[]).includes(tag))
    },

    pageOfEach: (users, limit) => Promise.all(users.map((user) => page(user, limit))),

    async count(user) {
      const id = parseId(user)
      const [rows] = await ownPool(id).execute<RowDataPacket[]>(
        `SELECT COUNT(*) AS entries FROM ${benchIndexes.user.table} WHERE user_id = ?`,
        [id],
      )
      return rows[0]?.['entries'] as number
    },

    settled: async () => {},
    async close() {
      await Promise.all(pools.map((pool) => pool.end()))
    },
    ...((layout === 'near' || layout === 'nearList') && nearByHand(pools, placement)),
    ...(isQueue(layout) && queueByHand(pools, router, layout)),
  }
}
