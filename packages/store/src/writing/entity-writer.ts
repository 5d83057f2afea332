import {
  elapsedBy,
  formatId,
  isLooseleafError,
  isVersion,
  LooseleafError,
  type Bag,
  type CallOptions,
  type CatalogEntry,
  type Codec,
  type Key,
} from '@looseleaf/core'
import {
  deriveEntryRows,
  diffRows,
  includedBytes,
  type Catalog,
  type EngineContext,
} from '@looseleaf/index-engine'
import {
  catchUp,
  commit,
  movedOrUndone,
  type EntityWrites,
  type PlacedKey,
  type RowFailure,
} from '@looseleaf/protocol'
import type { EntityReader } from '../reading/entity-reader.ts'
import type { Observing } from '../observing/observing.ts'
import type { IndexRowWriter } from './index-row-writer.ts'
import { rowsOfLostAttempts } from './lost-attempts.ts'
import type { RowRemovals } from './row-removals.ts'
import type { ShardLanes } from '../calls/shard-lanes.ts'
import { unknownOutcome } from './unknown-outcome.ts'
import type { WritePolicy } from './write-policy.ts'

/** What an attempt found under the id: a living entity, a tombstone (no bag), or nothing (version 0, no bag). */
export interface CurrentEntity {
  readonly version: number
  /** The attempt's own: the decision may change it. */
  readonly bag: Bag | undefined
  /** True for a living entity whose body could not be decoded; `bag` is undefined then. */
  readonly damaged: LooseleafError | undefined
  /** As it is stored; null for a tombstone and for nothing. */
  readonly body: Uint8Array | null
}

/**
 * What an attempt is to write: a bag that `copyBag` has made, so that what is stored and what is indexed is the same, null for
 * a tombstone, undefined to leave all as it is. Called once per attempt.
 */
export type Decide = (found: CurrentEntity) => Bag | null | undefined

export interface WriteOutcome {
  readonly found: CurrentEntity
  readonly written: boolean
  /** The new version when written, else the one that was found. */
  readonly version: number
  /** False when index rows are left to the cleaner. */
  readonly indexed: boolean
}

export interface WriteOptions extends CallOptions {
  /** The id was just made, so nothing has to be read. */
  readonly isFresh?: boolean
  /** The write goes by what it finds, so that one that has taken place would be added to when it is tried again. */
  readonly addsUp?: boolean
}

export interface EntityWriter {
  /** `OUTCOME_UNKNOWN` when the answer was lost and cannot be had any more; any other error means that nothing was written. */
  write(id: Uint8Array, decide: Decide, options: WriteOptions): Promise<WriteOutcome>
}

/** An attempt that was sent and whose answer was lost. */
interface UnsettledAttempt {
  readonly found: CurrentEntity
  readonly body: Uint8Array | null
  readonly bag: Bag | null
  readonly rows: RowChange
  /** That the attempt went by. */
  readonly catalog: Catalog
  readonly indexed: boolean
}

/** What a write does to the index rows of its entity. */
interface RowChange {
  /** Keys of unique indexes that the entity has to hold first. */
  readonly claimed: readonly PlacedKey[]
  readonly gained: readonly PlacedKey[]
  /** Lost rows of indexes in which the entity has none any more, and lost claims: nobody finds it by these. */
  readonly deletedNow: readonly PlacedKey[]
  /** Lost rows of indexes in which it still has others: a query may meet it by these while it moves from one to another. */
  readonly deletedLater: readonly PlacedKey[]
  /**
   * Lost rows of indexes that are being filled, where a failover may bring back what is replaced now: whoever fills may have read the
   * entity when it was something else, so that nobody has written them.
   */
  readonly mayReturn: readonly PlacedKey[]
}

/** Attempts before a write gives up. Nearly all of them are lost races, each of which another write of the entity has won. */
const MAX_TRIES = 64

/** Many writers of one entity: whoever has lost often steps back by a random part of this, so that somebody gets through. */
const backOffMs = (tries: number): number => (tries < 2 ? 0 : Math.min(2 ** tries, 100))

const NONE: readonly never[] = []

const NOTHING: CurrentEntity = { version: 0, bag: undefined, damaged: undefined, body: null }

/** The write path: the three laws of the protocol in their order. A write that ends without a commit leaves its rows to the cleaner. */
export function createEntityWriter(
  context: EngineContext,
  lanes: readonly ShardLanes[],
  reader: EntityReader,
  indexRows: IndexRowWriter,
  removals: RowRemovals,
  policy: WritePolicy,
  { happened }: Pick<Observing, 'happened'>,
): EntityWriter {
  const now = elapsedBy(context.time)

  async function find(
    id: Uint8Array,
    lane: ShardLanes,
    signal: AbortSignal | undefined,
  ): Promise<CurrentEntity> {
    const row = await reader.row(id, { signal })
    if (row === undefined) return NOTHING
    const { version, body } = row
    try {
      return { version, bag: reader.decode(row, lane.shard), damaged: undefined, body }
    } catch (error) {
      // What is damaged can be replaced, by its version.
      if (!isLooseleafError(error) || !isVersion(version)) throw error
      return { version, bag: undefined, damaged: error, body }
    }
  }

  /** Whether a version that was read stays, although nobody has said that it is on disk. */
  async function isOnDisk(
    id: Uint8Array,
    version: number,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const moved = await movedOrUndone(context, [{ id, version }], {
      signal,
      readVersions: async () => [(await reader.row(id, { signal }))?.version],
    })
    return moved.length === 0
  }

  /**
   * Takes keys of unique indexes. Where that fails, those that were had are given back if the id was just made: nobody else can
   * write the entity, and so rely on them. Of another one they are left to the cleaner, or to who wants them next.
   */
  async function claim(
    keys: readonly PlacedKey[],
    id: Uint8Array,
    version: number,
    isOurs: boolean,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    try {
      await indexRows.claim(keys, id, version, signal)
    } catch (error) {
      if (isOurs) removals.now(keys, id, version + 1)
      throw error
    }
  }

  /** The article's order: the entity is committed, so what fails now is for the cleaner. */
  async function writeAfter(
    gained: readonly PlacedKey[],
    id: Uint8Array,
    version: number,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const failures = await indexRows.upsert(gained, id, version, signal)
    return failures.length === 0
  }

  /** Attempts until one wins, or the decision is to write nothing. Those whose outcome is not known are noted. */
  async function attempt(
    id: Uint8Array,
    decide: Decide,
    unsettled: Map<number, UnsettledAttempt>,
    { signal, isFresh = false }: WriteOptions,
  ): Promise<WriteOutcome> {
    const shard = context.router.shardOfId(id)
    const lane = lanes[shard] as ShardLanes
    const writes: EntityWrites = {
      insert: (row) => lane.insert.submit(row, signal),
      replace: (row) => lane.replace.submit(row, signal),
    }
    const endsAt = now() + policy.writeTimeoutMs
    /** Rows of attempts that did not win. */
    const written: PlacedKey[] = []
    const won = (
      version: number,
      { found, bag, rows, indexed, catalog }: UnsettledAttempt,
    ): WriteOutcome | Promise<WriteOutcome> => {
      if (policy.writeOrder === 'entity-first') {
        return writeAfter(rows.gained, id, version, signal).then((all) => ({
          found,
          written: true,
          version,
          indexed: all,
        }))
      }
      if (catalog.policies.deleteDelayMs === 0) {
        const epoch = catalog.epochs[shard] ?? 0
        removals.now(rows.deletedNow, id, version)
        const left = rowsOfLostAttempts(catalog, written, bag)
        const later = left.length === 0 ? rows.deletedLater : [...rows.deletedLater, ...left]
        removals.later(later, { entityId: id, version, shard, epoch })
      }
      return { found, written: true, version, indexed }
    }

    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const isLate = tries > 0 && now() >= endsAt
      if (isLate && unsettled.size === 0) throw tooLate(id, lane, tries)
      const catalog = context.catalog.current()
      const found = isFresh && tries === 0 ? NOTHING : await find(id, lane, signal)
      const landed = unsettled.get(found.version)
      // Another process may have chosen the same version, though hardly ever; its body tells them apart.
      if (landed !== undefined && sameBody(landed.body, found.body)) {
        if (await isOnDisk(id, found.version, signal)) return won(found.version, landed)
        continue
      }
      // Only an attempt from the same base can still tell: if it wins, those before it never will.
      for (const { found: base } of unsettled.values())
        if (base.version !== found.version) throw lostTrack(id, lane, 'was written by another since')
      if (isLate) throw tooLate(id, lane, tries)

      const oldKeys = keysOf(catalog, found.bag)
      const bag = decide(found)
      // An attempt before this one may still land, so it cannot be said that nothing was written.
      if (bag === undefined && unsettled.size > 0) throw lostTrack(id, lane, 'is to stay as it was found')
      if (bag === undefined) return { found, written: false, version: found.version, indexed: true }

      const body = bag === null ? null : context.codec.encode(bag)
      const rows = diffAll(catalog, context.codec, id, oldKeys, found.body, bag)
      const version = context.clock.next(found.version)
      // By what the shard says whose epoch the commit carries: others may be a change behind.
      const defers = catalog.shards[shard]?.onIndexFailure === 'defer'
      const isOurs = isFresh && tries === 0
      if (rows.claimed.length > 0) await claim(rows.claimed, id, version, isOurs, signal)
      const isEarly = rows.gained.length > 0 && policy.writeOrder !== 'entity-first'
      // Law 1.
      const early = isEarly ? await indexRows.upsert(rows.gained, id, version, signal) : NONE
      const again =
        rows.mayReturn.length === 0 ? NONE : await indexRows.upsert(rows.mayReturn, id, found.version, signal)
      const failures = again.length === 0 ? early : [...early, ...again]
      const deferred = failures.length === 0 ? NONE : deferredTables(failures, defers)
      if (deferred.length > 0) happened({ kind: 'deferred', tables: deferred, shard: lane.shard })
      const epoch = catalog.epochs[shard] ?? 0
      const attempted: UnsettledAttempt = { found, body, bag, rows, catalog, indexed: deferred.length === 0 }

      const outcome = await commit({ id, version, body, base: found.version, epoch, deferred }, writes)
      if (outcome === 'won') return won(version, attempted)
      happened({ kind: 'attempt', outcome, shard: lane.shard })
      written.push(...rows.gained)
      if (outcome === 'stale') await catchUp(context, shard, { signal })
      if (outcome === 'unsettled') unsettled.set(version, attempted)
      const pause =
        outcome === 'lost' ? Math.min(context.random.next() * backOffMs(tries), endsAt - now()) : 0
      if (pause > 0 && tries < MAX_TRIES - 1) await context.time.sleep(pause, signal)
    }
    throw new LooseleafError(
      'CONFLICT',
      `Entity ${formatId(id)}: other writers, or changes of the catalog, came first ${MAX_TRIES} times in a row.`,
      { entity: formatId(id), shard: lane.shard },
    )
  }

  return {
    async write(id, decide, options) {
      const unsettled = new Map<number, UnsettledAttempt>()
      try {
        return await attempt(id, decide, unsettled, options)
      } catch (error) {
        // Whatever ended the attempts, one that was sent before may have taken place or may yet.
        throw unsettled.size === 0 ? error : unknownOutcome(id, unsettled.keys(), options, error)
      }
    },
  }
}

function sameBody(one: Uint8Array | null, other: Uint8Array | null): boolean {
  return one === null || other === null ? one === other : Buffer.compare(one, other) === 0
}

function lostTrack(id: Uint8Array, lane: ShardLanes, what: string): LooseleafError {
  const entity = formatId(id)
  return new LooseleafError('CONFLICT', `Entity ${entity} ${what}.`, {
    entity,
    shard: lane.shard,
  })
}

function tooLate(id: Uint8Array, lane: ShardLanes, tries: number): LooseleafError {
  const entity = formatId(id)
  return new LooseleafError(
    'DEADLINE',
    `Entity ${entity}: ${tries} ${tries === 1 ? 'attempt' : 'attempts'} did not get through within writeTimeoutMs, and no more is begun.`,
    { entity, shard: lane.shard },
  )
}

/** The tables of rows that could not be written, where that is allowed; throws what has failed otherwise. */
function deferredTables(failures: readonly RowFailure[], defers: boolean): readonly string[] {
  for (const { error } of failures) if (!defers || !mayDefer(error)) throw error
  return [...new Set(failures.map(({ table }) => table))]
}

/** Whether an index row that could not be written may be written later: its shard does not answer, now. */
function mayDefer(error: unknown): boolean {
  return isLooseleafError(error) && error.retryable
}

/** The keys that an entity has in every index, in the order of the catalog's; undefined for one that is not there. */
function keysOf({ indexes }: Catalog, bag: Bag | undefined): readonly (readonly Key[])[] | undefined {
  return bag && indexes.map((entry) => deriveEntryRows(entry, bag).keys)
}

/** What an entity's change means for every index, building and retiring ones included. */
function diffAll(
  catalog: Catalog,
  codec: Codec,
  id: Uint8Array,
  oldKeys: readonly (readonly Key[])[] | undefined,
  before: Uint8Array | null,
  after: Bag | null,
): RowChange {
  const claimed: PlacedKey[] = []
  const gained: PlacedKey[] = []
  const deletedNow: PlacedKey[] = []
  const deletedLater: PlacedKey[] = []
  const mayReturn: PlacedKey[] = []
  for (const [i, entry] of catalog.indexes.entries()) {
    const diff = diffRows(entry, oldKeys?.[i] ?? NONE, after ?? undefined)
    refuseMisfits(entry, id, diff.misfits)
    const included =
      after === null || diff.gained.length === 0 ? undefined : includedBytes(entry, after, codec)
    for (const key of diff.gained) (entry.unique ? claimed : gained).push({ entry, key, included })
    for (const key of diff.lost)
      (diff.isIndexed && !entry.unique ? deletedLater : deletedNow).push({ entry, key })
    if (diff.lost.length === 0 || entry.state !== 'building' || entry.unique) continue
    if (before === null || catalog.policies.deleteDelayMs === 0) continue
    // Decoded anew, as the decision may have changed the bag that it was given.
    const held = entry.include && includedBytes(entry, codec.decode(before), codec)
    for (const key of diff.lost) mayReturn.push({ entry, key, included: held })
  }
  return { claimed, gained, deletedNow, deletedLater, mayReturn }
}

function refuseMisfits(
  entry: CatalogEntry,
  id: Uint8Array,
  misfits: readonly { readonly property: string; readonly reason: string }[],
): void {
  const misfit = misfits[0]
  if (misfit === undefined || entry.onMisfit === 'skip') return
  throw new LooseleafError(
    'BAD_INDEX_VALUE',
    `Index ${entry.name}: property ${misfit.property}: ${misfit.reason}.`,
    { entity: formatId(id), index: entry.name },
  )
}
