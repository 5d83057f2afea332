import type { Pool, QueryError, ResultSetHeader } from 'mysql2'
import type { BenchIndex, KeyValue } from '../../workload/indexes.ts'
import { Lane } from './lane.ts'

/** A stored body with its version. */
export type Stored = readonly [version: number, body: Buffer]

export interface Swap {
  readonly id: Buffer
  readonly base: number
  readonly version: number
  readonly body: Buffer
}

export interface RowOf {
  readonly key: readonly KeyValue[]
  readonly id: Buffer
  readonly version: number
  readonly included?: Buffer | undefined
}

/** Request for the newest rows whose first columns have these values, optionally before a time and an id. */
export interface Scan {
  readonly first: readonly KeyValue[]
  readonly limit: number
  readonly before?: readonly [published: number, id: Buffer]
}

export type Scanned = readonly [id: Buffer, published: number, included?: Buffer]

export interface IndexLanes {
  readonly insert: Lane<RowOf, void>
  readonly remove: Lane<RowOf, void>
  readonly scan: Lane<Scan, Scanned[]>
  readonly count: Lane<readonly KeyValue[], number>
}

export interface ShardLanes {
  readonly get: Lane<Buffer, Stored | undefined>
  /** Gathers whole lists of ids into a statement. */
  readonly getLists: Lane<readonly Buffer[], (Stored | undefined)[]>
  readonly insert: Lane<Omit<Swap, 'base'>, void>
  readonly swap: Lane<Swap, boolean>
  readonly remove: Lane<Buffer, void>
  indexOf(index: BenchIndex): IndexLanes
}

/** Largest number of rows, and of lists, per statement. Their bytes stay far below what servers accept. */
const ROWS = 200
const LISTS = 40

const hex = (bytes: Uint8Array): string =>
  `x'${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}'`
const literal = (value: KeyValue): string => (typeof value === 'number' ? String(value) : hex(value))
const keyText = (id: Buffer): string => id.toString('latin1')

export function createShardLanes(pool: Pool, indexes: readonly BenchIndex[]): ShardLanes {
  // The callback API, because the driver's promises record a stack trace for each statement.
  const query = <T>(sql: string): Promise<T> =>
    new Promise((resolve, reject) => {
      pool.query({ sql, rowsAsArray: true }, (error: QueryError | null, result: unknown) =>
        error === null ? resolve(result as T) : reject(error),
      )
    })
  const run = async (sql: string): Promise<number> => (await query<ResultSetHeader>(sql)).affectedRows
  const read = <T>(sql: string): Promise<T[]> => query(sql)

  /** Reads the bodies of these ids. Duplicate ids are read once. */
  async function readAll(ids: Iterable<Buffer>): Promise<Map<string, Stored>> {
    const distinct = new Map<string, Buffer>()
    for (const id of ids) distinct.set(keyText(id), id)
    const rows = await read<[Buffer, number, Buffer]>(
      `SELECT id, version, body FROM entities WHERE id IN (${[...distinct.values()].map(hex).join()})`,
    )
    return new Map(rows.map(([id, version, body]) => [keyText(id), [version, body]]))
  }

  async function swapAll(swaps: readonly Swap[]): Promise<boolean[]> {
    const rows = swaps.map(
      ({ id, base, version, body }, i) =>
        `SELECT ${i === 0 ? `CAST(${hex(id)} AS BINARY(16)) AS id` : hex(id)}, ${base}${i === 0 ? ' AS base' : ''}, ` +
        `${version}${i === 0 ? ' AS version' : ''}, ${hex(body)}${i === 0 ? ' AS body' : ''}`,
    )
    const matched = await run(
      `UPDATE entities e JOIN (${rows.join(' UNION ALL ')}) n ON e.id = n.id AND e.version = n.base ` +
        'SET e.updated = NOW(6), e.version = n.version, e.body = n.body',
    )
    if (matched === swaps.length) return swaps.map(() => true)
    // Some swaps matched no row. Versions are unique, so a swap has won if its version is stored now.
    const stored = await readAll(swaps.map(({ id }) => id))
    return swaps.map(({ id, version }) => stored.get(keyText(id))?.[0] === version)
  }

  function createIndexLanes({ table, columns, include }: BenchIndex): IndexLanes {
    const names = [...columns, ...(include === undefined ? [] : ['included']), 'entity_id', 'version']
    const values = ({ key, id, version, included }: RowOf): string =>
      `(${[...key.map(literal), ...(included === undefined ? [] : [hex(included)]), hex(id), version].join()})`
    const where = (first: readonly KeyValue[]): string =>
      first.map((value, i) => `${columns[i]} = ${literal(value)}`).join(' AND ') || 'TRUE'
    const scan = ({ first, limit, before }: Scan, i: number): string =>
      `(SELECT ${i}, entity_id, published${include === undefined ? '' : ', included'} FROM ${table} WHERE ${where(first)}` +
      (before === undefined
        ? ''
        : ` AND published <= ${before[0]} AND (published < ${before[0]} OR entity_id < ${hex(before[1])})`) +
      ` ORDER BY published DESC, entity_id DESC LIMIT ${limit})`
    return {
      insert: new Lane(ROWS, async (rows) => {
        // Rows are sorted by key. Statements of several processes then lock rows in one order, so they cannot deadlock.
        const sorted = rows.map(values).toSorted()
        await run(
          `INSERT INTO ${table} (${names.join()}) VALUES ${sorted.join()} ` +
            'ON DUPLICATE KEY UPDATE version = GREATEST(version, VALUES(version))',
        )
        return []
      }),
      remove: new Lane(ROWS, async (rows) => {
        const conditions = rows.map(
          ({ key, id, version }) => `(${where(key)} AND entity_id = ${hex(id)} AND version < ${version})`,
        )
        await run(`DELETE FROM ${table} WHERE ${conditions.join(' OR ')}`)
        return []
      }),
      scan: new Lane(LISTS, async (scans) => {
        const found: Scanned[][] = scans.map(() => [])
        for (const [i, id, published, included] of await read<[number, Buffer, number, Buffer]>(
          scans.map(scan).join(' UNION ALL '),
        ))
          found[i]?.push([id, published, included])
        return found
      }),
      count: new Lane(LISTS, async (keys) => {
        const rows = await read<[number, number]>(
          keys.map((key, i) => `SELECT ${i}, COUNT(*) FROM ${table} WHERE ${where(key)}`).join(' UNION ALL '),
        )
        return rows.toSorted(([a], [b]) => a - b).map(([, count]) => count)
      }),
    }
  }

  const lanes = new Map(indexes.map((index) => [index.table, createIndexLanes(index)]))
  return {
    get: new Lane(ROWS, async (ids) => {
      const found = await readAll(ids)
      return ids.map((id) => found.get(keyText(id)))
    }),
    getLists: new Lane(LISTS, async (lists) => {
      const found = await readAll(lists.flat())
      return lists.map((ids) => ids.map((id) => found.get(keyText(id))))
    }),
    insert: new Lane(ROWS, async (rows) => {
      const all = rows.map(({ id, version, body }) => `(${hex(id)},NOW(6),${version},${hex(body)})`)
      await run(`INSERT INTO entities (id, updated, version, body) VALUES ${all.join()}`)
      return []
    }),
    swap: new Lane(ROWS, swapAll),
    remove: new Lane(ROWS, async (ids) => {
      await run(`DELETE FROM entities WHERE id IN (${ids.map(hex).join()})`)
      return []
    }),
    indexOf: (index) => lanes.get(index.table) as IndexLanes,
  }
}
