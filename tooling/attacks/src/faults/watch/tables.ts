import { msgpackZlibCodec } from '@looseleaf/codec'
import { formatId, type Bag } from '@looseleaf/core'
import { tableName } from '@looseleaf/index-engine/internal'
import { bucketRouter } from '@looseleaf/router'
import { createSession, type Row } from '../../lab/session.ts'
import type { SightRecord } from '../history/records.ts'
import { allIndexes, dayOf, type Content } from '../indexes.ts'
import { contentIn } from '../load/client.ts'

/*
 * Reads the tables without the store, its drivers or its index engine: plain SQL, with the rules of the four
 * indexes written a second time by hand.
 */

const [TAGS_TABLE, GROUP_TABLE, TIME_TABLE, DAY_TABLE] = allIndexes.map((index) => tableName(index, 1)) as [
  string,
  string,
  string,
  string,
]

/** Tables of the indexes whose rows are all on the shards of their entities. */
const EXACT_TABLES: ReadonlySet<string> = new Set([TIME_TABLE, DAY_TABLE])

/** Text that names an index row's shard, table, key and entity. */
export type RowText = string

export interface EntityState {
  readonly id: string
  readonly version: number
  /** Undefined for a tombstone. */
  readonly bag: Bag | undefined
}

/** Direct connections to the databases, past every proxy. */
export interface Tables {
  /** Reads all entities, or those with these ids, including tombstones. */
  entities(ids?: readonly string[]): Promise<EntityState[]>
  /** Reads all index rows, or those of these entities. */
  rows(ids?: readonly string[]): Promise<Set<RowText>>
  /** Returns the rows that an entity must have. */
  expected(state: EntityState): RowText[]
  /** Returns the rows that `deleteDelayMs` keeps when the state is replaced. The rows of exact indexes go in the commit that replaces it. */
  kept(state: EntityState): RowText[]
  /** Reads the pending rows; see `pendingOf`. */
  pending(): Promise<ReadonlySet<string>>
  /** Sends one statement to a shard. */
  ask(shard: number, statement: string): Promise<Row[]>
  close(): void
}

const codec = msgpackZlibCodec()

export interface TablesOptions {
  /**
   * True if buckets move: of an entity on two shards the later state counts, since the other one is a leftover, and a row may be on any shard.
   * Queries and the cleaner's check tell whether it is on the right one. Default: false.
   */
  readonly bucketsMove?: boolean | undefined
}

/** `urls` is called again after a connection was lost, because a server may come back elsewhere. */
export function openTables(
  urls: () => readonly string[],
  { bucketsMove = false }: TablesOptions = {},
): Tables {
  const router = bucketRouter({ shards: urls().length })
  const sessions = urls().map((_, shard) =>
    createSession(() => urls()[shard] ?? '', 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'),
  )
  const ask: Tables['ask'] = async (shard, statement) => (await sessions[shard]?.ask(statement)) ?? []
  const everywhere = async (statement: string): Promise<Row[][]> =>
    Promise.all(sessions.map((session) => session.ask(statement)))
  const among = (column: string, ids: readonly string[] | undefined): string =>
    ids === undefined ? '' : ` WHERE ${column} IN (${ids.map((id) => `x'${id.replaceAll('-', '')}'`).join()})`

  const rowText = (shard: number, table: string, key: string, id: string): RowText =>
    `${bucketsMove ? 'any' : shard} ${table} ${key} ${id}`

  const tables: Tables = {
    ask,
    async entities(ids) {
      const found = await everywhere(`SELECT id, version, body FROM entities${among('id', ids)}`)
      const states = found.flat().map(({ id, version, body }) => ({
        id: formatId(id as Buffer),
        version: Number(version),
        bag: body === null ? undefined : codec.decode(body as Buffer),
      }))
      if (!bucketsMove) return states
      const latest = new Map<string, EntityState>()
      for (const state of states)
        if (!(state.version < (latest.get(state.id)?.version ?? 0))) latest.set(state.id, state)
      return [...latest.values()]
    },
    async rows(ids) {
      const rows = new Set<RowText>()
      const where = among('entity_id', ids)
      const queries: readonly (readonly [table: string, columns: string])[] = [
        [TAGS_TABLE, 'HEX(`tags`)'],
        [GROUP_TABLE, 'HEX(`group`)'],
        [TIME_TABLE, "CONCAT(HEX(`group`), ' ', `at`)"],
        [DAY_TABLE, "CONCAT(`day`, ' ', `group_is_null`, ' ', HEX(`group`))"],
      ]
      for (const [table, columns] of queries) {
        const found = await everywhere(`SELECT ${columns} AS k, entity_id FROM \`${table}\`${where}`)
        for (const [shard, part] of found.entries())
          for (const row of part)
            rows.add(rowText(shard, table, String(row['k']), formatId(row['entity_id'] as Buffer)))
      }
      return rows
    },
    async pending() {
      const found = await everywhere('SELECT entity_id, index_table FROM looseleaf_pending')
      return new Set(
        found.flat().map((row) => {
          // A string, or its bytes if the column is binary.
          const table = String(row['index_table'])
          return pendingText(table, formatId(row['entity_id'] as Buffer))
        }),
      )
    },
    expected({ id, bag }) {
      if (bag === undefined) return []
      const { group, tags, at }: Content = contentIn(bag)
      const shardOfText = (text: string): number => router.shardOfKey(Buffer.from(text))
      const own = router.shardOfId(Buffer.from(id.replaceAll('-', ''), 'hex'))
      const day = `${micros(dayOf(at))} ${group === null ? 1 : 0} ${hex(group ?? '')}`
      const rows = [
        ...tags.map((tag) => rowText(shardOfText(tag), TAGS_TABLE, hex(tag), id)),
        ...(tags.includes('grey') ? [] : [rowText(own, DAY_TABLE, day, id)]),
      ]
      if (group === null) return rows
      return [
        ...rows,
        rowText(shardOfText(group), GROUP_TABLE, hex(group), id),
        rowText(own, TIME_TABLE, `${hex(group)} ${micros(at)}`, id),
      ]
    },
    kept(state) {
      return tables.expected(state).filter((row) => !EXACT_TABLES.has(tableOf(row)))
    },
    close() {
      for (const session of sessions) session.close()
    },
  }
  return tables
}

function micros(time: string): bigint {
  return BigInt(new Date(time).getTime()) * 1000n
}

function hex(text: string): string {
  return Buffer.from(text).toString('hex').toUpperCase()
}

function pendingText(table: string, id: string): string {
  return `${table} ${id}`
}

/** Returns the text by which `Tables.pending` names this row. */
export function pendingOf(row: RowText): string {
  return pendingText(tableOf(row), row.split(' ').at(-1) ?? '')
}

function tableOf(row: RowText): string {
  return row.split(' ')[1] ?? ''
}

export interface Comparison {
  readonly entities: number
  readonly rows: number
  readonly missing: readonly RowText[]
  readonly dangling: readonly RowText[]
}

/** Compares the index tables with a recomputation from all entities. Valid only while nothing writes. */
export async function compareTables(tables: Tables): Promise<Comparison> {
  const states = await tables.entities()
  const rows = await tables.rows()
  const expected = new Set(states.flatMap((state) => tables.expected(state)))
  return {
    entities: states.filter(({ bag }) => bag !== undefined).length,
    rows: rows.size,
    missing: [...expected.difference(rows)],
    dangling: [...rows.difference(expected)],
  }
}

/** Returns the final states as sights of this moment, including ids that do not exist. */
export async function lastSights(
  tables: Tables,
  ids: readonly string[],
  at: number,
): Promise<readonly SightRecord[]> {
  const states = new Map((await tables.entities()).map((state) => [state.id, state]))
  return ids.map((id): SightRecord => {
    const state = states.get(id)
    const nothing: SightRecord = { kind: 'sight', id, start: at, end: at }
    if (state?.bag === undefined) return nothing
    const { bag, version } = state
    return {
      ...nothing,
      version,
      by: Number(bag['by']),
      content: contentIn(bag),
      ...(bag['previous'] !== undefined && { previous: Number(bag['previous']) }),
    }
  })
}
