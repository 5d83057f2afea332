import type { Step } from '../explore.ts'
import { PLACEMENTS, type Phase } from '../moves/row-world.ts'
import type { NearGuards } from './row-guards.ts'

/** Shards A (0) and B (1). */
export type Place = 0 | 1

/**
 * Buckets of index rows: `own` is the bucket of the entity, whose rows are near; `same` begins on the entity's shard A, too; `other` is
 * always on shard B.
 */
export type Bucket = 'own' | 'same' | 'other'

/** Phases of the two buckets that can move. */
export type Phases = Readonly<Record<'own' | 'same', Phase>>

/** The part of a shard's catalog that counts here. Each change raises the epoch of the shard. */
export interface NearCatalog {
  epoch: number
  /** Number of the published contents; both shards have the same contents in the end. */
  contents: number
  phases: Phases
  /** Whether the indexes are exact: their rows may go at once. */
  isExact: boolean
}

export interface NearIndex {
  readonly name: string
  bucketOf(key: string): Bucket
  readonly isExact: boolean
}

/** A call of a query in flight. */
export interface QueryInFlight {
  /** Phases of the catalog by which it reads; null before it has read one. */
  phases: Phases | null
  readonly asked: readonly string[]
  /** Whether the entity has matched since the query began. */
  matches: boolean
  /** Version of the entity when the query began. */
  readonly since: number
  /** Whether a program asks that does not protect itself. */
  readonly isOld: boolean
}

export interface NearWorld {
  readonly catalogs: [NearCatalog, NearCatalog]
  /** The shard that owns the entity. */
  owner: Place
  version: number
  /** Empty for a tombstone. */
  keys: readonly string[]
  /** Copy of the entity that stayed on the other shard after a move; null for none. */
  leftBehind: { readonly version: number; readonly keys: readonly string[] } | null
  /** Stamps of the index rows on each shard, by row. */
  readonly rows: [Record<string, number>, Record<string, number>]
  readonly queries: Record<string, QueryInFlight>
  /** Whether programs that do not protect themselves are refused. */
  requiresProtection: boolean
  /** Contents whose moving rows were copied. */
  copied: number
  wrong: string | undefined
}

/** Variables of a process between its statements. */
export interface NearMemory {
  /** Catalog of the entity's shard, and the shard. */
  known: NearCatalog
  owner: Place
  /** Number of the state that a writer wants now. */
  turn: number
  tries: number
  base: number
  old: readonly string[]
  version: number
  won: boolean
  /** Queries that were in flight at the commit or at the read. */
  awaited: readonly string[]
  rows: Record<string, number>
  /** For a query: keys found, by index, and the rows of its open snapshots, by place. */
  found: Record<string, readonly string[]>
  snapshots: [Record<string, number> | null, Record<string, number> | null]
}

/** Rows that may go at once: near ones; all on the entity's shard; or all on any one shard. */
export type AtOnceRule = 'near' | 'local' | 'one shard'

export type NearStep = Step<NearWorld, NearMemory>
export type NearProcess = readonly NearStep[]

/** The bucket of a key by its first letter: near, same shard, far. */
const BUCKETS: Readonly<Record<string, Bucket>> = { n: 'own', s: 'same', f: 'other' }

/** The index by which most situations ask. */
export const byKey: NearIndex = { name: 'I', bucketOf: (key) => BUCKETS[key[0]!]!, isExact: true }

/** Returns another index of the same keys, with all of its rows in one bucket. */
export const indexIn = (bucket: Bucket, isExact: boolean): NearIndex => ({
  name: 'K',
  bucketOf: () => bucket,
  isExact,
})

export interface IndexRow {
  readonly id: string
  readonly index: NearIndex
  readonly bucket: Bucket
}

export function rowsOf(keys: readonly string[], indexes: readonly NearIndex[]): IndexRow[] {
  return indexes.flatMap((index) =>
    keys.map((key) => ({ id: `${index.name}.${key}`, index, bucket: index.bucketOf(key) })),
  )
}

export function placementOf(
  phases: Phases,
  bucket: Bucket,
): { readonly read: Place; readonly write: readonly Place[] } {
  return bucket === 'other' ? { read: 1, write: [1] } : PLACEMENTS[phases[bucket]]
}

export interface NearWorldOptions {
  readonly keys?: readonly string[]
  readonly indexes?: readonly NearIndex[]
  /** Rows beside those of the entity, by place. */
  readonly leftovers?: readonly [Record<string, number>, Record<string, number>]
  readonly isExact?: boolean
  readonly phases?: Partial<Phases>
}

/** Returns an entity on shard A with all of its rows. */
export function nearWorld({
  keys = ['n1'],
  indexes = [byKey],
  leftovers = [{}, {}],
  isExact = true,
  phases = {},
}: NearWorldOptions = {}): NearWorld {
  const catalog = {
    epoch: 1,
    contents: 1,
    phases: { own: 'before', same: 'before', ...phases },
    isExact,
  } as const
  const rows: NearWorld['rows'] = [{ ...leftovers[0] }, { ...leftovers[1] }]
  for (const { id, bucket } of rowsOf(keys, indexes))
    for (const place of placementOf(catalog.phases, bucket).write) rows[place][id] = 10
  return {
    catalogs: [{ ...catalog }, { ...catalog }],
    owner: 0,
    version: keys.length === 0 ? 0 : 10,
    keys,
    leftBehind: null,
    rows,
    queries: {},
    requiresProtection: isExact,
    copied: 0,
    wrong: undefined,
  }
}

export function noNearMemory(): NearMemory {
  const { catalogs, owner } = nearWorld()
  return {
    known: catalogs[0],
    owner,
    turn: 0,
    tries: 0,
    base: 0,
    old: [],
    version: 0,
    won: false,
    awaited: [],
    rows: {},
    found: {},
    snapshots: [null, null],
  }
}

export const nextVersion = (base: number, process: number): number =>
  (Math.floor(base / 10) + 1) * 10 + process + 1

export function upsert(rows: Record<string, number>, id: string, stamp: number, guards: NearGuards): void {
  rows[id] = guards.greatestStampStays ? Math.max(rows[id] ?? 0, stamp) : stamp
}

export function remove(rows: Record<string, number>, id: string, upTo: number, guards: NearGuards): void {
  if (!guards.deletesCompareStamps || (rows[id] ?? Infinity) <= upTo) delete rows[id]
}

/** Tells whether a query is still in flight that was so before. */
export const isAwaited = ({ queries }: NearWorld, awaited: readonly string[]): boolean =>
  awaited.some((query) => query in queries)

/** Commits a state of the entity, and notes which queries it matches no longer. */
export function commitState(world: NearWorld, version: number, keys: readonly string[]): void {
  Object.assign(world, { version, keys })
  for (const query of Object.values(world.queries))
    if (!query.asked.some((key) => keys.includes(key))) query.matches = false
}

/**
 * Returns a broken promise: a place at which a query may read a row of the committed entity lacks it, or a query has noticed something.
 */
export function missingNearRow(
  { catalogs, queries, keys, rows, wrong }: NearWorld,
  indexes: readonly NearIndex[],
): string | undefined {
  if (wrong !== undefined) return wrong
  const read = [
    ...catalogs.map(({ phases }) => phases),
    ...Object.values(queries).flatMap((q) => q.phases ?? []),
  ]
  for (const { id, bucket } of rowsOf(keys, indexes)) {
    const lacking = read.find((phases) => !(id in rows[placementOf(phases, bucket).read]))
    if (lacking !== undefined)
      return `place ${'AB'[placementOf(lacking, bucket).read]} is read and lacks the row ${id}`
  }
  return undefined
}
