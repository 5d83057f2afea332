import { formatId, type Bag } from '@looseleaf/core'
import { msgpackZlibCodec } from '@looseleaf/codec'
import { bucketRouter } from '@looseleaf/router'
import { createSession, type Row, type Session } from '../lab/session.ts'
import { lastStates, type EntityStates } from './entity-states.ts'
import { idOf, isDeletion, stateOf, type State } from './model.ts'

/*
 * Compares every row of every table with the model: plain SQL, with the rules of the indexes written a second time by hand.
 */

export interface TablesCheck {
  readonly entities: number
  readonly rows: number
  readonly claims: number
  /** Rows that no entity has. A writer that was killed leaves them for the cleaner. */
  readonly dangling: number
  readonly wrongs: readonly string[]
}

interface Stored {
  readonly state: number
  readonly version: number
}

interface IndexTable {
  readonly name: string
  /** SQL of the key as text. */
  readonly key: string
  /** Returns the keys of an entity's rows, and what the bucket of each row is computed from: a text, or the entity's id. */
  readonly rows: (state: State) => readonly (readonly [key: string, shardedOn: string | undefined])[]
}

const TABLES: readonly IndexTable[] = [
  {
    name: 'index_by_group',
    key: "CONCAT(HEX(`group`), ' ', state)",
    rows: ({ group, state }) => [[`${hex(group)} ${state}`, group]],
  },
  { name: 'index_by_tag', key: 'HEX(tags)', rows: ({ tags }) => tags.map((tag) => [hex(tag), tag]) },
  {
    name: 'index_by_slot',
    key: "CONCAT(slot, ' ', state)",
    rows: ({ slot, state }) => [[`${slot} ${state}`, undefined]],
  },
  {
    name: 'index_by_place',
    key: "CONCAT(HEX(place), ' ', state)",
    rows: ({ place, state }) => [[`${hex(place)} ${state}`, place]],
  },
  {
    name: 'index_by_page',
    key: "CONCAT(HEX(`group`), ' ', state)",
    rows: ({ kind, group, state }) => (kind === 'page' ? [[`${hex(group)} ${state}`, group]] : []),
  },
  { name: 'index_by_name', key: 'HEX(name)', rows: ({ name }) => [[hex(name), name]] },
  { name: 'claims_by_name', key: 'HEX(name)', rows: ({ name }) => [[hex(name), name]] },
]

const MOST_WRONGS = 20
const PAGE = 20_000
const codec = msgpackZlibCodec()
const { buckets } = bucketRouter({ shards: 1 })

/** `urls` are all databases of the store by shard number. Valid only while nothing writes. */
export async function checkTables(
  urls: readonly string[],
  entities: ReadonlyMap<number, EntityStates>,
): Promise<TablesCheck> {
  const sessions = urls.map((url) => createSession(() => url))
  const wrongs: string[] = []
  try {
    const owners = await readOwners(sessions, wrongs)
    const numbers = new Map([...entities.keys()].map((number) => [idOf(number), number]))
    const stored = await checkEntities(sessions, entities, numbers, owners, wrongs)
    let [rows, claims, dangling] = [0, 0, 0]
    for (const table of TABLES) {
      const found = await checkRows(sessions, table, stored, numbers, owners, wrongs)
      if (table.name.startsWith('claims')) claims += found.rows
      else rows += found.rows
      dangling += found.dangling
    }
    return { entities: stored.size, rows, claims, dangling, wrongs: wrongs.slice(0, MOST_WRONGS) }
  } finally {
    for (const session of sessions) session.close()
  }
}

/** Returns the shard of each bucket, by the layouts of all shards, which have to be the same and to announce nothing. */
async function readOwners(sessions: readonly Session[], wrongs: string[]): Promise<readonly number[]> {
  const owners: number[] = []
  const texts = new Set<string>()
  for (const [shard, session] of sessions.entries()) {
    const [row] = await session.ask('SELECT catalog FROM looseleaf_meta')
    // A database that is no shard yet has no catalog.
    if (row === undefined) continue
    const { layout, serves } = JSON.parse(String(row['catalog'])) as {
      readonly layout: {
        readonly shards: readonly { readonly buckets: string }[]
        readonly moves?: readonly object[]
      }
      readonly serves?: { readonly owns: string; readonly leaving?: object; readonly coming?: object }
    }
    texts.add(JSON.stringify(layout))
    if ((layout.moves ?? []).length > 0) wrongs.push(`Shard ${shard} still announces a move`)
    if (serves?.leaving !== undefined || serves?.coming !== undefined)
      wrongs.push(`Buckets of shard ${shard} are still in motion`)
    const owned = layout.shards[shard]?.buckets ?? ''
    if (serves !== undefined && serves.owns !== owned)
      wrongs.push(`Shard ${shard} owns other buckets than the layout gives it`)
    for (const range of owned === '' ? [] : owned.split(',')) {
      const [first, last] = range.split('-').map(Number) as [number, number?]
      for (let bucket = first; bucket <= (last ?? first); bucket++) owners[bucket] = shard
    }
  }
  if (texts.size > 1) wrongs.push('The layouts of the shards differ')
  return owners
}

/** Compares the entities with their last states. Returns those that are there. */
async function checkEntities(
  sessions: readonly Session[],
  entities: ReadonlyMap<number, EntityStates>,
  numbers: ReadonlyMap<string, number>,
  owners: readonly number[],
  wrongs: string[],
): Promise<Map<number, Stored>> {
  const stored = new Map<number, Stored>()
  const seen = new Set<number>()
  for (const [shard, session] of sessions.entries()) {
    for (let after = '0'; ;) {
      const rows = await session.ask(
        `SELECT added_id, id, version, body FROM entities WHERE added_id > ${after} ORDER BY added_id LIMIT ${PAGE / 10}`,
      )
      for (const { id, version, body } of rows) {
        const text = formatId(id as Buffer)
        const number = numbers.get(text)
        if (number === undefined) {
          wrongs.push(`Shard ${shard} has an unknown entity ${text}`)
          continue
        }
        if (owners[buckets?.ofId(id as Buffer) ?? -1] !== shard) {
          wrongs.push(`Shard ${shard} has ${number}, whose bucket it does not own`)
          continue
        }
        if (seen.has(number)) wrongs.push(`${number} is there twice`)
        seen.add(number)
        const bag = body === null ? undefined : codec.decode(body as Buffer)
        const state = bag === undefined ? undefined : Number(bag['state'])
        const states = lastStates(entities.get(number) as EntityStates)
        const fits =
          state === undefined
            ? states.some((each) => each === -1 || isDeletion(number, each))
            : states.includes(state) && isSame(bag, stateOf(number, state))
        if (!fits)
          wrongs.push(`${number} is in state ${state ?? 'none'} at the end; possible: ${states.join(', ')}`)
        if (state !== undefined) stored.set(number, { state, version: Number(version) })
      }
      const last = rows.at(-1)
      if (last === undefined) break
      after = String(last['added_id'])
    }
  }
  for (const [number, entity] of entities) {
    const states = lastStates(entity)
    if (!seen.has(number) && !states.some((state) => state === -1 || isDeletion(number, state)))
      wrongs.push(`${number} is lost; possible: ${states.join(', ')}`)
  }
  return stored
}

function isSame(bag: Bag | undefined, state: State | undefined): boolean {
  const sorted = (each: object | undefined): string =>
    JSON.stringify(Object.entries(each ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return sorted(bag) === sorted(state)
}

/** Compares an index table with the stored entities: every row is there once, on its shard. */
async function checkRows(
  sessions: readonly Session[],
  table: IndexTable,
  stored: ReadonlyMap<number, Stored>,
  numbers: ReadonlyMap<string, number>,
  owners: readonly number[],
  wrongs: string[],
): Promise<{ readonly rows: number; readonly dangling: number }> {
  const missing = new Map<string, string>()
  for (const [number, { state }] of stored) {
    const bag = stateOf(number, state)
    for (const [key, shardedOn] of bag === undefined ? [] : table.rows(bag)) {
      const id = Buffer.from(idOf(number).replaceAll('-', ''), 'hex')
      const bucket = shardedOn === undefined ? buckets?.ofId(id) : buckets?.ofKey(Buffer.from(shardedOn))
      missing.set(`${owners[bucket ?? -1]} ${key} ${number}`, `${table.name} of ${number} in state ${state}`)
    }
  }
  let [rows, dangling] = [0, 0]
  for (const [shard, session] of sessions.entries()) {
    for (const row of await allRows(session, table)) {
      rows++
      const text = `${shard} ${String(row['k'])} ${numbers.get(formatId(row['entity_id'] as Buffer))}`
      if (!missing.delete(text)) dangling++
    }
  }
  for (const text of missing.values()) wrongs.push(`A row is missing: ${text}`)
  return { rows, dangling }
}

async function allRows(session: Session, { name, key }: IndexTable): Promise<readonly Row[]> {
  return session.ask(`SELECT ${key} AS k, entity_id FROM \`${name}\``)
}

function hex(text: string): string {
  return Buffer.from(text).toString('hex').toUpperCase()
}
