import { createReadStream } from 'node:fs'
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { msgpackZlibCodec, parseId } from 'looseleaf'
import { createConnection, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise'
import { noUsage, type ServerUsage } from '../measure/usage.ts'
import type { Server } from '../servers/server.ts'
import { createPlacement } from '../sides/index-rows.ts'
import { looseleaf } from '../sides/looseleaf-side.ts'
import { openDataSet } from '../workload/data-set.ts'
import type { KeyValue } from '../workload/indexes.ts'
import { tableRowsOf, type TableRows } from './table-rows.ts'

export interface Loaded {
  readonly seconds: number
  /** µs. */
  readonly clientCpu: number
  readonly before: ServerUsage
  readonly after: ServerUsage
}

/** Entries per append to the files, so that memory stays bounded. */
const CHUNK_ENTRIES = 1000

/** Tells whether a server accepts LOAD DATA LOCAL. MySQL does not by default. */
export async function takesFiles(url: string): Promise<boolean> {
  const connection = await createConnection(url)
  try {
    const [[row]] = await connection.query<RowDataPacket[]>('SELECT @@local_infile AS is_on')
    return row?.['is_on'] === 1
  } finally {
    await connection.end()
  }
}

/**
 * Loads entries by LOAD DATA into the tables that Looseleaf creates: shards in parallel, the tables of a shard one after the other.
 * The files are written before the clock starts, so encoding entries is not counted. Returns undefined if a server rejects files.
 */
export async function loadData(server: Server, entries: number, users: number): Promise<Loaded | undefined> {
  const databases = await server.createDatabases()
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-bench-load-'))
  try {
    if (!(await Promise.all(databases.map(takesFiles))).every(Boolean)) return undefined
    await looseleaf.create(databases, 'entries')
    const files = await writeFiles(folder, databases.length, entries, users)
    const before = (await server.meter?.read()) ?? noUsage
    const cpu = process.cpuUsage()
    const start = performance.now()
    await Promise.all(
      databases.map(async (url, shard) => {
        const shardFiles = [...files.values()].filter((file) => file.shard === shard)
        const connection = await createConnection({
          uri: url,
          infileStreamFactory: (path: string) => createReadStream(path),
        })
        try {
          for (const file of shardFiles) await load(connection, file)
        } finally {
          await connection.end()
        }
      }),
    )
    const seconds = (performance.now() - start) / 1000
    const { user, system } = process.cpuUsage(cpu)
    return { seconds, clientCpu: user + system, before, after: (await server.meter?.read()) ?? noUsage }
  } finally {
    await server.dropDatabases(databases)
    await rm(folder, { recursive: true, force: true })
  }
}

interface LoadFile extends Omit<TableRows, 'rows'> {
  readonly path: string
  /** For each column: true if its values are bytes, which the file holds as hexadecimal digits. */
  readonly bytes: readonly boolean[]
  rows: number
}

async function writeFiles(
  folder: string,
  shards: number,
  entries: number,
  users: number,
): Promise<Map<string, LoadFile>> {
  const placement = createPlacement(shards, 'entries')
  const data = openDataSet({ layout: 'entries', entries, users, bag: undefined }, 0)
  const codec = msgpackZlibCodec()
  const files = new Map<string, LoadFile>()
  for (let from = 0; from < entries; from += CHUNK_ENTRIES) {
    const chunk = Array.from({ length: Math.min(CHUNK_ENTRIES, entries - from) }, (_, i) => {
      const [ref, entry] = data.entry(from + i)
      return { id: parseId(ref.id), entry }
    })
    for (const { shard, table, columns, rows } of tableRowsOf(placement, chunk, (bag) => codec.encode(bag))) {
      const path = join(folder, `${shard}-${table}`)
      const file = files.get(path) ?? {
        shard,
        table,
        columns,
        path,
        bytes: (rows[0] as KeyValue[]).map((value) => typeof value !== 'number'),
        rows: 0,
      }
      file.rows += rows.length
      files.set(path, file)
      await appendFile(path, `${rows.map((row) => row.map(field).join('\t')).join('\n')}\n`)
    }
  }
  return files
}

const field = (value: KeyValue): string =>
  typeof value === 'number' ? String(value) : Buffer.from(value).toString('hex')

async function load(
  connection: Awaited<ReturnType<typeof createConnection>>,
  { path, table, columns, bytes, rows }: LoadFile,
): Promise<void> {
  const fields = columns.map((column, i) => (bytes[i] ? `@${column}` : column))
  const set = columns.flatMap((column, i) => (bytes[i] ? [`${column} = UNHEX(@${column})`] : []))
  if (table === 'entities') set.push('updated = NOW(6)')
  const [result] = await connection.query<ResultSetHeader>({
    sql: `LOAD DATA LOCAL INFILE ? INTO TABLE ${table} (${fields.join(', ')}) SET ${set.join(', ')}`,
    values: [path],
    infileStreamFactory: () => createReadStream(path),
  } as Parameters<typeof connection.query>[0])
  if (result.affectedRows !== rows) throw new Error(`${table} took ${result.affectedRows} of ${rows} rows.`)
}
