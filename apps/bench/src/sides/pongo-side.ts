import { sql } from '@event-driven-io/dumbo'
import { pongoClient, type PongoCollection, type PongoDocument } from '@event-driven-io/pongo'
import type { Bag } from 'looseleaf'
import pg from 'pg'
import { indexesOf, type LayoutName } from '../workload/indexes.ts'
import { newId, type Ref } from '../workload/ids.ts'
import { nearScenarios } from '../workload/scenarios.ts'
import type { Side, SideDefinition, StoredEntry } from './side.ts'

/**
 * Pongo on one PostgreSQL server, because it does not shard. Its own filters use no B-tree index, and it has no order and no limit; for
 * these, the side passes SQL, as Pongo's documentation suggests.
 */
export const pongo: SideDefinition = {
  name: 'pongo',
  title: 'Pongo on PostgreSQL',
  server: 'postgres',
  // PostgreSQL cannot read a query from an index over expressions alone. On one server, all entries are near their rows.
  without: ['list', 'listUnverified', ...nearScenarios],
  async create(databases, layout) {
    const pool = poolOf(databases)
    await collectionOn(databases, pool).createCollection()
    for (const index of indexesFor(layout)) await pool.query(index)
    await pool.end()
  },
  async open(databases) {
    const pool = poolOf(databases)
    return sideOn(collectionOn(databases, pool), pool)
  },
}

function poolOf([url]: readonly string[]): pg.Pool {
  const pool = new pg.Pool({ connectionString: url as string, max: 32 })
  // A server that stops, or drops the database, ends idle connections. Without listeners, these errors would end the process. A
  // statement in flight rejects by itself.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

function collectionOn([url]: readonly string[], pool: pg.Pool): PongoCollection<PongoDocument> {
  return pongoClient(url as string, { connectionOptions: { pool } })
    .db()
    .collection('entries')
}

/** Returns statements for B-trees over the properties of each key, or an inverted index if a property is an array. */
function indexesFor(layout: LayoutName): string[] {
  return indexesOf(layout).map(({ definition, columns, claims }) => {
    if (definition.properties.some(({ many }) => many))
      return 'CREATE INDEX ON entries USING gin (data jsonb_path_ops)'
    const keys = columns.map((column) => `(data->>'${column}')`)
    return `CREATE ${claims === undefined ? '' : 'UNIQUE '}INDEX ON entries (${keys.join(', ')})`
  })
}

type StoredDocument = PongoDocument & { readonly _id: string; readonly _version: bigint }

function sideOn(entries: PongoCollection<PongoDocument>, pool: pg.Pool): Side {
  const toEntry = (found: PongoDocument): StoredEntry => {
    const { _id, _version, ...bag } = found as StoredDocument
    return { ...(bag as Bag), id: _id }
  }
  const newest = "ORDER BY data->>'published' DESC LIMIT %s"
  const find = async (filter: string, ...values: unknown[]): Promise<StoredEntry[]> =>
    (await entries.find(sql(filter, ...values))).map(toEntry)
  const page = (user: string, limit: number): Promise<StoredEntry[]> =>
    find(`data->>'user_id' = %L ${newest}`, user, limit)

  async function insert({ id }: Pick<Ref, 'id'>, entry: Bag): Promise<void> {
    const { successful } = await entries.insertOne({ ...entry, _id: id })
    if (!successful) throw new Error(`The entry ${id} already exists.`)
  }

  return {
    async fill(all) {
      await entries.insertMany(all.map(([{ id }, entry]) => ({ ...entry, _id: id })))
    },
    async insert(entry) {
      const ref = { id: newId(), user: entry.user_id }
      await insert(ref, entry)
      return ref
    },
    async put(ref, entry) {
      const { matchedCount } = await entries.replaceOne({ _id: ref.id }, entry)
      if (matchedCount === 0) await insert(ref, entry)
    },
    async update({ id }, change) {
      for (;;) {
        const found = (await entries.findOne({ _id: id })) as StoredDocument | null
        if (found === null) throw new Error(`There is no entry ${id}.`)
        const { id: _, ...bag } = toEntry(found)
        const options = { expectedVersion: found._version }
        const { modifiedCount } = await entries.replaceOne({ _id: id }, change(bag), options)
        if (modifiedCount === 1) return
      }
    },
    async delete({ id }) {
      await entries.deleteOne({ _id: id })
    },
    async get({ id }) {
      const found = await entries.findOne({ _id: id })
      return found === null ? undefined : toEntry(found as PongoDocument)
    },
    async getMany(refs) {
      const found = await entries.find({ _id: { $in: refs.map(({ id }) => id) } })
      const byId = new Map(
        found.map((document) => [document._id as string, toEntry(document as PongoDocument)]),
      )
      return refs.map(({ id }) => byId.get(id))
    },
    page,
    async pages(user, before, limit, pages) {
      const all: StoredEntry[] = []
      let range = sql("data->>'published' < %L", before.toISOString())
      for (let number = 0; number < pages; number++) {
        const items = await find(
          `data->>'user_id' = %L AND %s ORDER BY data->>'published' DESC, _id DESC LIMIT %s`,
          user,
          range,
          limit,
        )
        all.push(...items)
        const last = items.at(-1)
        if (last === undefined || items.length < limit) break
        const published = String(last['published'])
        range = sql("(data->>'published', _id) < (%L, %L)", published, last.id)
      }
      return all
    },
    newest: (limit) => find(`TRUE ${newest}`, limit),
    tagged: (tag, limit) => find(`data @> %L::jsonb ${newest}`, JSON.stringify({ tags: [tag] }), limit),
    pageOfEach: (users, limit) => Promise.all(users.map((user) => page(user, limit))),
    // Pongo returns a BigInt here, although its type says number.
    count: async (user) => Number(await entries.countDocuments(sql("data->>'user_id' = %L", user))),
    settled: async () => {},
    close: () => pool.end(),
  }
}
