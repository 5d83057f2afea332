import {
  elapsedBy,
  formatId,
  isLooseleafError,
  isUndone,
  isVersion,
  LooseleafError,
  type Bag,
  type CallOptions,
} from '@looseleaf/core'
import type { Catalog, EngineContext } from '@looseleaf/index-engine'
import {
  catchUp,
  commit,
  movedOrUndone,
  type CommitOutcome,
  type EntityWrites,
  type PlacedKey,
  type RowFailure,
} from '@looseleaf/protocol'
import type { EntityReader } from '../reading/entity-reader.ts'
import type { Observing } from '../observing/observing.ts'
import { backOffMs, MAX_TRIES } from './back-off.ts'
import type { IndexRowWriter } from './index-row-writer.ts'
import { rowsOfLostAttempts } from './lost-attempts.ts'
import { diffAll, keysOf, type RowChange } from './row-change.ts'
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

/** An attempt that was sent and has no answer. */
interface UnsettledAttempt extends Attempt {
  /** Why there is no answer. */
  readonly reason: LooseleafError
}

/** An attempt that was sent. */
interface Attempt {
  readonly found: CurrentEntity
  readonly body: Uint8Array | null
  readonly bag: Bag | null
  readonly rows: RowChange
  /** That the attempt went by. */
  readonly catalog: Catalog
  readonly indexed: boolean
}

const STAYS = 'would stay as it was found, while an earlier attempt of this call may still be committed'

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
    try {
      const moved = await movedOrUndone(context, [{ id, version }], {
        signal,
        readVersions: async () => [(await reader.row(id, { signal }))?.version],
      })
      return moved.length === 0
    } catch (error) {
      if (isUndone(error)) return false
      throw error
    }
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
      { found, bag, rows, indexed, catalog }: Attempt,
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

    /** Why the last attempt has not taken place, where another write of the entity is not the reason. */
    let obstacle: LooseleafError | undefined
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const isLate = tries > 0 && now() >= endsAt
      if (isLate && unsettled.size === 0) throw tooLate(id, lane, tries, obstacle)
      const catalog = context.catalog.current()
      const found = isFresh && tries === 0 ? NOTHING : await find(id, lane, signal)
      const landed = unsettled.get(found.version)
      // Another process may have chosen the same version, though hardly ever; its body tells them apart.
      if (landed !== undefined && sameBody(landed.body, found.body)) {
        if (await isOnDisk(id, found.version, signal)) return won(found.version, landed)
        continue
      }
      // Only an attempt from the same base can still tell: if it wins, those before it never will.
      for (const { found: base, reason } of unsettled.values())
        if (base.version !== found.version) throw lostTrack(id, lane, 'was written by another since', reason)
      if (isLate) throw tooLate(id, lane, tries, obstacle)

      const oldKeys = keysOf(catalog, found.bag)
      const bag = decide(found)
      // An attempt before this one may still land, so it cannot be said that nothing was written.
      for (const { reason } of bag === undefined ? unsettled.values() : NONE)
        throw lostTrack(id, lane, STAYS, reason)
      if (bag === undefined) return { found, written: false, version: found.version, indexed: true }

      const body = bag === null ? null : context.codec.encode(bag)
      const rows = diffAll(catalog, context.codec, id, oldKeys, found.body, bag)
      const version = context.clock.next(found.version)
      // By what the shard says whose epoch the commit carries: others may be a change behind.
      const defers = catalog.shards[shard]?.onIndexFailure === 'defer'
      const isOurs = isFresh && tries === 0
      obstacle = undefined
      let sent: Attempt | undefined
      let outcome: CommitOutcome | 'undone'
      try {
        if (rows.claimed.length > 0) await claim(rows.claimed, id, version, isOurs, signal)
        const isEarly = rows.gained.length > 0 && policy.writeOrder !== 'entity-first'
        // Law 1.
        const early = isEarly ? await indexRows.upsert(rows.gained, id, version, signal) : NONE
        const again =
          rows.mayReturn.length === 0
            ? NONE
            : await indexRows.upsert(rows.mayReturn, id, found.version, signal)
        const failures = again.length === 0 ? early : [...early, ...again]
        const deferred = failures.length === 0 ? NONE : deferredTables(failures, defers)
        if (deferred.length > 0) happened({ kind: 'deferred', tables: deferred, shard: lane.shard })
        const epoch = catalog.epochs[shard] ?? 0
        sent = { found, body, bag, rows, catalog, indexed: deferred.length === 0 }
        const row = { id, version, body, base: found.version, epoch, deferred }
        outcome = await commit(row, writes, (error) => (obstacle = error))
      } catch (error) {
        if (!isUndone(error)) throw error
        // A statement that was undone as a whole has done nothing, so this attempt will never be committed.
        outcome = 'undone'
        obstacle = error
      }
      if (outcome === 'won') return won(version, sent as Attempt)
      happened({ kind: 'attempt', outcome, shard: lane.shard })
      written.push(...rows.gained)
      if (outcome === 'stale') await catchUp(context, shard, { signal })
      if (outcome === 'unsettled')
        unsettled.set(version, { ...(sent as Attempt), reason: obstacle as LooseleafError })
      const collides = outcome === 'lost' || outcome === 'undone'
      const pause = collides ? Math.min(context.random.next() * backOffMs(tries), endsAt - now()) : 0
      if (pause > 0 && tries < MAX_TRIES - 1) await context.time.sleep(pause, signal)
    }
    throw new LooseleafError(
      'CONFLICT',
      `Entity ${formatId(id)}: other writers, or changes of the catalog, came first ${MAX_TRIES} times in a row.`,
      { entity: formatId(id), shard: lane.shard, cause: obstacle },
    )
  }

  return {
    async write(id, decide, options) {
      const unsettled = new Map<number, UnsettledAttempt>()
      try {
        return await attempt(id, decide, unsettled, options)
      } catch (error) {
        // Whatever ended the attempts, one that was sent before may have taken place or may yet.
        throw unsettled.size === 0 ? error : unknownOutcome(id, unsettled, options, error)
      }
    },
  }
}

function sameBody(one: Uint8Array | null, other: Uint8Array | null): boolean {
  return one === null || other === null ? one === other : Buffer.compare(one, other) === 0
}

function lostTrack(id: Uint8Array, lane: ShardLanes, what: string, cause: LooseleafError): LooseleafError {
  const entity = formatId(id)
  return new LooseleafError('CONFLICT', `Entity ${entity} ${what}.`, { entity, shard: lane.shard, cause })
}

function tooLate(
  id: Uint8Array,
  lane: ShardLanes,
  tries: number,
  cause: LooseleafError | undefined,
): LooseleafError {
  const entity = formatId(id)
  const attempts = `${tries} ${tries === 1 ? 'attempt' : 'attempts'} did not get through within writeTimeoutMs`
  const reason = cause === undefined ? '' : ` Of the last one: ${cause.message}`
  return new LooseleafError('DEADLINE', `Entity ${entity}: ${attempts}, and no more is begun.${reason}`, {
    entity,
    shard: lane.shard,
    cause,
  })
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
