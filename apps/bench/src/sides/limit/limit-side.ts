import { formatId, parseId, type Bag } from 'looseleaf'
import { Packr } from 'msgpackr'
import { createPool } from 'mysql2'
import type { Entry } from '../../workload/entry.ts'
import { nearScenarios } from '../../workload/scenarios.ts'
import { benchIndexes, micros, textKey } from '../../workload/indexes.ts'
import {
  byShard,
  createPlacement,
  nextVersion,
  rowsOf,
  rowsWithout,
  type IndexRow,
  type Placement,
} from '../index-rows.ts'
import { looseleaf } from '../looseleaf-side.ts'
import type { Side, SideDefinition, StoredEntry } from '../side.ts'
import { createShardLanes, type Scanned, type ShardLanes, type Stored } from './shard-lanes.ts'

/**
 * The upper bound for Looseleaf's design: its tables and write order, with calls gathered into statements by hand and bodies by msgpackr
 * alone. It omits every check: epochs, checksums, bad input, rows against entities, deadlines. Not usable as a program.
 */
export const limit: SideDefinition = {
  name: 'limit',
  title: 'the limit',
  server: 'mariadb',
  // Unique keys need claims, which are a check. It knows no entities near their rows.
  without: ['insertUnique', ...nearScenarios],
  create: looseleaf.create,
  open: async (databases, layout) => openSide(databases, createPlacement(databases.length, layout)),
}

const packr = new Packr({ useRecords: false })
const bytesOf = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex')

function openSide(databases: readonly string[], placement: Placement): Side {
  const { router } = placement
  const pools = databases.map((uri) => createPool({ uri, connectionLimit: 16, supportBigNumbers: true }))
  const shards = pools.map((pool) => createShardLanes(pool, placement.indexes))
  const shardOf = (number: number): ShardLanes => shards[number] as ShardLanes
  const ownShard = (id: Buffer): ShardLanes => shardOf(router.shardOfId(id))
  const removals = new Set<Promise<unknown>>()

  function unpack(id: string, stored: Stored | undefined): StoredEntry | undefined {
    if (stored === undefined) return undefined
    const entry = packr.unpack(stored[1]) as Bag
    entry['id'] = id
    return entry as StoredEntry
  }

  async function getAll(ids: readonly Buffer[]): Promise<(StoredEntry | undefined)[]> {
    const places = byShard([...ids.keys()], (i) => router.shardOfId(ids[i] as Buffer))
    const found: (StoredEntry | undefined)[] = ids.map(() => undefined)
    await Promise.all(
      [...places].map(async ([shard, at]) => {
        const list = await shardOf(shard).getLists.submit(at.map((i) => ids[i] as Buffer))
        for (const [n, i] of at.entries()) found[i] = unpack(formatId(ids[i] as Buffer), list[n])
      }),
    )
    return found
  }

  const insertRows = (
    rows: readonly IndexRow[],
    id: Buffer,
    version: number,
    entry: Entry,
  ): Promise<unknown> =>
    Promise.all(
      rows.map(({ index, shard, key }) => {
        // Only the properties that a list shows. The key columns hold the others.
        const included = index.include && Object.fromEntries(index.include.map((name) => [name, entry[name]]))
        return shardOf(shard)
          .indexOf(index)
          .insert.submit({ key, id, version, included: included && packr.pack(included) })
      }),
    )

  /** Deletes lost rows in the background. */
  function removeRows(rows: readonly IndexRow[], id: Buffer, version: number): void {
    for (const { index, shard, key } of rows) {
      const removal = shardOf(shard).indexOf(index).remove.submit({ key, id, version })
      removals.add(removal)
      void removal.finally(() => removals.delete(removal))
    }
  }

  async function insert(id: Buffer, entry: Entry): Promise<void> {
    const version = nextVersion(0)
    await insertRows(rowsOf(placement, id, entry), id, version, entry)
    await ownShard(id).insert.submit({ id, version, body: packr.pack(entry) })
  }

  const entriesOf = async (
    rows: readonly Scanned[],
    matches: (entry: StoredEntry) => boolean,
  ): Promise<StoredEntry[]> =>
    (await getAll(rows.map(([id]) => id))).filter(
      (entry) => entry !== undefined && matches(entry),
    ) as StoredEntry[]

  async function page(user: string, pageSize: number): Promise<StoredEntry[]> {
    const id = bytesOf(user)
    const rows = await ownShard(id)
      .indexOf(benchIndexes.user)
      .scan.submit({ first: [id], limit: pageSize })
    return entriesOf(rows, (entry) => entry['user_id'] === user)
  }

  return {
    async fill(entries) {
      await Promise.all(entries.map(([{ id }, entry]) => insert(bytesOf(id), entry)))
    },
    async insert(entry) {
      const id = Buffer.from(router.newId())
      await insert(id, entry)
      return { id: formatId(id), user: entry.user_id }
    },
    async put(ref, entry) {
      const id = bytesOf(ref.id)
      for (;;) {
        const stored = await ownShard(id).get.submit(id)
        if (stored === undefined) return insert(id, entry)
        const version = nextVersion(stored[0])
        const before = rowsOf(placement, id, packr.unpack(stored[1]) as Entry)
        const after = rowsOf(placement, id, entry)
        await insertRows(rowsWithout(after, before), id, version, entry)
        const isSwapped = await ownShard(id).swap.submit({
          id,
          base: stored[0],
          version,
          body: packr.pack(entry),
        })
        removeRows(isSwapped ? rowsWithout(before, after) : rowsWithout(after, before), id, version + 1)
        if (isSwapped) return
      }
    },
    async update(ref, change) {
      const id = bytesOf(ref.id)
      for (;;) {
        const stored = await ownShard(id).get.submit(id)
        if (stored === undefined) throw new Error(`There is no entry ${ref.id}.`)
        const [base, body] = stored
        const changed = packr.pack(change(packr.unpack(body) as StoredEntry))
        if (await ownShard(id).swap.submit({ id, base, version: nextVersion(base), body: changed })) return
      }
    },
    async delete(ref) {
      const id = bytesOf(ref.id)
      const stored = await ownShard(id).get.submit(id)
      if (stored === undefined) return
      await ownShard(id).remove.submit(id)
      removeRows(rowsOf(placement, id, packr.unpack(stored[1]) as Entry), id, stored[0] + 1)
    },
    async get(ref) {
      const id = bytesOf(ref.id)
      return unpack(ref.id, await ownShard(id).get.submit(id))
    },
    getMany: (refs) => getAll(refs.map(({ id }) => bytesOf(id))),
    page,
    async list(user, pageSize) {
      const id = bytesOf(user)
      const rows = await ownShard(id)
        .indexOf(benchIndexes.list)
        .scan.submit({ first: [id], limit: pageSize })
      return rows.map(([entity, , included]) => {
        const { title, link } = packr.unpack(included as Buffer) as Entry
        return { id: formatId(entity), title, link }
      })
    },
    async pages(user, before, pageSize, pages) {
      const id = bytesOf(user)
      const found: StoredEntry[] = []
      // The least id, so that the first page begins right before the given time.
      let from: readonly [number, Buffer] = [micros(before), Buffer.alloc(16)]
      for (let number = 0; number < pages; number++) {
        const scan = { first: [id], limit: pageSize, before: from }
        const rows = await ownShard(id).indexOf(benchIndexes.user).scan.submit(scan)
        found.push(...(await entriesOf(rows, (entry) => entry['user_id'] === user)))
        const last = rows.at(-1)
        if (last === undefined || rows.length < pageSize) break
        from = [last[1], last[0]]
      }
      return found
    },
    async newest(pageSize) {
      const scans = shards.map((shard) =>
        shard.indexOf(benchIndexes.time).scan.submit({ first: [], limit: pageSize }),
      )
      const rows = (await Promise.all(scans)).flat().toSorted((a, b) => b[1] - a[1])
      return entriesOf(rows.slice(0, pageSize), () => true)
    },
    async tagged(tag, pageSize) {
      const key = textKey(tag)
      const lanes = shardOf(router.shardOfKey(key)).indexOf(benchIndexes.tag)
      const rows = await lanes.scan.submit({ first: [key], limit: pageSize })
      return entriesOf(rows, (entry) => (entry['tags'] as string[]).includes(tag))
    },
    pageOfEach: (users, pageSize) => Promise.all(users.map((user) => page(user, pageSize))),
    count(user) {
      const id = parseId(user)
      return shardOf(router.shardOfId(id)).indexOf(benchIndexes.user).count.submit([id])
    },
    async settled() {
      await Promise.all(removals)
    },
    async close() {
      await Promise.all(removals)
      await Promise.all(pools.map((pool) => new Promise((resolve) => pool.end(resolve))))
    },
  }
}
