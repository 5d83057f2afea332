import Database from 'better-sqlite3'
import { formatId, msgpackZlibCodec, parseId, type Bag } from 'looseleaf'
import type { Entry } from '../workload/entry.ts'
import { benchIndexes, type KeyValue } from '../workload/indexes.ts'
import {
  byShard,
  createPlacement,
  nextVersion,
  rowsOf,
  rowsWithout,
  type IndexRow,
  type Placement,
} from './index-rows.ts'
import { nearScenarios } from '../workload/scenarios.ts'
import { sqliteLooseleaf } from './looseleaf-side.ts'
import type { Side, SideDefinition, StoredEntry } from './side.ts'

/**
 * The program that a team would write by hand with better-sqlite3, on Looseleaf's tables: prepared statements, write-ahead log, a flush
 * at each commit. Rows of one file share a transaction, because statements cost no round trip here.
 */
export const sqliteHandWritten: SideDefinition = {
  name: 'sqlite-hand-written',
  title: 'hand-written better-sqlite3',
  server: 'sqlite',
  // The part `sqlite` measures the usual calls only.
  without: ['list', 'listUnverified', 'range', 'scatter', 'tag', 'insertUnique', ...nearScenarios],
  create: sqliteLooseleaf.create,
  open: async (databases, layout) => openSide(databases, createPlacement(databases.length, layout)),
}

interface EntityRow {
  readonly id: Buffer
  readonly version: number
  readonly body: Buffer
}

const NOW = `CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER) * 1000`

function openSide(databases: readonly string[], placement: Placement): Side {
  const { router } = placement
  const codec = msgpackZlibCodec()
  const files = databases.map(openFile)
  const ownFile = (id: Uint8Array): File => files[router.shardOfId(id)] as File
  const read = (id: Uint8Array): EntityRow | undefined =>
    ownFile(id).statement('SELECT id, version, body FROM entities WHERE id = ?').get(id) as
      | EntityRow
      | undefined
  const decode = (row: EntityRow): StoredEntry => ({ ...codec.decode(row.body), id: formatId(row.id) })

  function readMany(ids: readonly Uint8Array[]): (StoredEntry | undefined)[] {
    const found = new Map<string, StoredEntry>()
    for (const [shard, group] of byShard(ids, (id) => router.shardOfId(id))) {
      const list = group.map(() => '?').join(', ')
      const statement = files[shard]?.statement(
        `SELECT id, version, body FROM entities WHERE id IN (${list})`,
      )
      for (const row of (statement?.all(...group) ?? []) as EntityRow[]) {
        const entry = decode(row)
        found.set(entry.id, entry)
      }
    }
    return ids.map((id) => found.get(formatId(id)))
  }

  function insertRow({ index, shard, key }: IndexRow, id: Uint8Array, version: number): void {
    const names = [...index.columns, 'entity_id', 'version']
    files[shard]
      ?.statement(
        `INSERT INTO ${index.table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
      )
      .run(...key, id, version)
  }

  function deleteRow({ index, shard, key }: IndexRow, id: Uint8Array): void {
    const where = index.columns.map((column) => `${column} = ?`).join(' AND ')
    files[shard]?.statement(`DELETE FROM ${index.table} WHERE ${where} AND entity_id = ?`).run(...key, id)
  }

  /** Writes the rows of each file in a transaction. The entity's own file is last, and its transaction also runs `writeEntity`. */
  function write(
    id: Uint8Array,
    rows: readonly IndexRow[],
    writeRow: (row: IndexRow) => void,
    writeEntity: () => void,
  ): void {
    const entityShard = router.shardOfId(id)
    const groups = byShard(rows, ({ shard }) => shard)
    for (const [shard, group] of groups)
      if (shard !== entityShard) files[shard]?.transaction(() => group.forEach(writeRow))
    files[entityShard]?.transaction(() => {
      groups.get(entityShard)?.forEach(writeRow)
      writeEntity()
    })
  }

  /** Deletes lost rows after the commit of their entity, by a transaction per file. */
  function deleteRows(rows: readonly IndexRow[], id: Uint8Array): void {
    for (const [shard, group] of byShard(rows, (row) => row.shard))
      files[shard]?.transaction(() => group.forEach((row) => deleteRow(row, id)))
  }

  function insert(id: Uint8Array, entry: Bag): void {
    const version = nextVersion(0)
    const body = codec.encode(entry)
    // Rows in other files go first, so that queries find every committed entity.
    write(
      id,
      rowsOf(placement, id, entry as Entry),
      (row) => insertRow(row, id, version),
      () =>
        ownFile(id)
          .statement(`INSERT INTO entities (id, updated, version, body) VALUES (?, ${NOW}, ?, ?)`)
          .run(id, version, body),
    )
  }

  function swap(id: Uint8Array, base: number, version: number, bag: Bag): boolean {
    const sql = `UPDATE entities SET updated = ${NOW}, version = ?, body = ? WHERE id = ? AND version = ?`
    return ownFile(id).statement(sql).run(version, codec.encode(bag), id, base).changes === 1
  }

  function page(user: string, limit: number): StoredEntry[] {
    const id = parseId(user)
    const rows = ownFile(id)
      .statement(
        `SELECT entity_id FROM ${benchIndexes.user.table} WHERE user_id = ? ORDER BY published DESC, entity_id DESC LIMIT ?`,
      )
      .all(id, limit) as { readonly entity_id: Buffer }[]
    // A row may be older than its entry, so entries that do not match are left out.
    return readMany(rows.map((row) => row.entity_id)).filter(
      (entry) => entry?.['user_id'] === user,
    ) as StoredEntry[]
  }

  return {
    async fill(entries) {
      const version = nextVersion(0)
      const all = entries.map(([ref, entry]) => ({ id: parseId(ref.id), entry }))
      const rows = all.flatMap(({ id, entry }) => rowsOf(placement, id, entry).map((row) => ({ row, id })))
      for (const [shard, file] of files.entries()) {
        file.transaction(() => {
          for (const { row, id } of rows) if (row.shard === shard) insertRow(row, id, version)
          for (const { id, entry } of all)
            if (router.shardOfId(id) === shard)
              file
                .statement(`INSERT INTO entities (id, updated, version, body) VALUES (?, ${NOW}, ?, ?)`)
                .run(id, version, codec.encode(entry))
        })
      }
    },
    async insert(entry) {
      const id = router.newId()
      insert(id, entry)
      return { id: formatId(id), user: entry.user_id }
    },
    async put(ref, entry) {
      const id = parseId(ref.id)
      for (;;) {
        const row = read(id)
        if (row === undefined) return insert(id, entry)
        const version = nextVersion(row.version)
        const before = rowsOf(placement, id, codec.decode(row.body) as Entry)
        const after = rowsOf(placement, id, entry)
        const entityShard = router.shardOfId(id)
        let stale = rowsWithout(after, before)
        let isSwapped = false
        write(
          id,
          rowsWithout(after, before),
          (added) => insertRow(added, id, version),
          () => {
            isSwapped = swap(id, row.version, version, entry)
            if (!isSwapped) return
            // Lost rows in the entity's own file are deleted by the same transaction.
            stale = rowsWithout(before, after)
            for (const lost of stale) if (lost.shard === entityShard) deleteRow(lost, id)
            stale = stale.filter(({ shard }) => shard !== entityShard)
          },
        )
        deleteRows(stale, id)
        if (isSwapped) return
      }
    },
    async update(ref, change) {
      const id = parseId(ref.id)
      for (;;) {
        const row = read(id)
        if (row === undefined) throw new Error(`There is no entry ${ref.id}.`)
        if (swap(id, row.version, nextVersion(row.version), change(codec.decode(row.body)))) return
      }
    },
    async delete(ref) {
      const id = parseId(ref.id)
      const row = read(id)
      if (row === undefined) return
      const entityShard = router.shardOfId(id)
      const groups = byShard(rowsOf(placement, id, codec.decode(row.body) as Entry), ({ shard }) => shard)
      // The entity goes first, with the rows of its own file: a row without an entity is harmless, and an entity without rows is not.
      files[entityShard]?.transaction(() => {
        files[entityShard]
          ?.statement('DELETE FROM entities WHERE id = ? AND version = ?')
          .run(id, row.version)
        for (const lost of groups.get(entityShard) ?? []) deleteRow(lost, id)
      })
      groups.delete(entityShard)
      deleteRows([...groups.values()].flat(), id)
    },
    async get(ref) {
      const row = read(parseId(ref.id))
      return row && decode(row)
    },
    getMany: async (refs) => readMany(refs.map(({ id }) => parseId(id))),
    page: async (user, limit) => page(user, limit),
    pageOfEach: async (users, limit) => users.map((user) => page(user, limit)),
    async count(user) {
      const id = parseId(user)
      const sql = `SELECT COUNT(*) AS entries FROM ${benchIndexes.user.table} WHERE user_id = ?`
      return (ownFile(id).statement(sql).get(id) as { entries: number }).entries
    },
    settled: async () => {},
    async close() {
      for (const file of files) file.close()
    },
  }
}

interface File {
  /** Returns a statement, prepared at its first use. */
  statement(sql: string): Database.Statement<KeyValue[]>
  transaction(work: () => void): void
  close(): void
}

function openFile(path: string): File {
  const database = new Database(path, { timeout: 5_000 })
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  const statements = new Map<string, Database.Statement<KeyValue[]>>()
  // Created once, as the documentation of better-sqlite3 recommends. Each call passes its own work.
  const transaction = database.transaction((work: () => void) => work())
  return {
    statement(sql) {
      let statement = statements.get(sql)
      if (statement === undefined) statements.set(sql, (statement = database.prepare<KeyValue[]>(sql)))
      return statement
    },
    transaction: (work) => transaction(work),
    close: () => void database.close(),
  }
}
