import { isLooseleafError, type CallOptions, type LooseleafError } from '@looseleaf/core'
import { elapsedBy, isUndone } from '@looseleaf/core/internal'
import { isWritable, type EngineContext, type Placement } from '@looseleaf/index-engine/internal'
import {
  catchUp,
  commit,
  createBucketWait,
  type Commit,
  type CommitOutcome,
  type EntityWrites,
  type PlacedKey,
  type WaitForBucket,
} from '@looseleaf/protocol/internal'
import {
  committedAttempt,
  requireNoneUnsettled,
  requireSameBase,
  tooLate,
  tooManyAttempts,
  type Attempt,
  type UnsettledAttempts,
  type WriteTarget,
} from './attempt.ts'
import type { EntityReader } from '../reading/entities/entity-reader.ts'
import type { Observing } from '../observing/observing.ts'
import { MAX_TRIES, pauseAfter } from './back-off.ts'
import { createCommittedStates } from './committed-states.ts'
import type { CurrentEntity, Decide } from './decisions.ts'
import { decideKnown, type Decided } from './decide-known.ts'
import type { IndexRowWriter } from './index-row-writer.ts'
import { isDurable } from './is-durable.ts'
import { deferredTables, mayBeOfLocalRows } from './row-failures.ts'
import { diffAll, keysOf, NONE, type SplitChange } from './row-change.ts'
import type { RowRemovals } from './row-removals.ts'
import type { LanesOf } from '../calls/shard-lanes.ts'
import { splitAttempt, withoutLocal } from './split-attempt.ts'
import { superfluousRows } from './superseded-attempts.ts'
import { unknownOutcome } from './unknown-outcome.ts'
import type { WritePolicy } from './write-policy.ts'
import { createRowSteps, findEntity, isOfReplaced, NOTHING, unlessTaken } from './write-steps.ts'

export interface WriteOutcome {
  readonly found: CurrentEntity
  readonly written: boolean
  /** The new version if the entity was written, otherwise the version that was found. */
  readonly version: number
  /** False if the cleaner has to write some index rows. */
  readonly indexed: boolean
}

export interface EntityWriteOptions extends CallOptions {
  /** True if the id was made for this call, so that the first attempt need not read the entity. */
  readonly isFresh?: boolean
  /** True if the new bag depends on the bag found, so that repeating a committed write would apply it twice. */
  readonly addsUp?: boolean
  /** The decision writes at this version only. */
  readonly ifVersion?: number | undefined
}

/** Parts that the writers of a store share. */
export interface WriterParts extends Pick<Observing, 'happened'> {
  readonly context: EngineContext
  readonly lanesOf: LanesOf
  readonly reader: EntityReader
  readonly indexRows: IndexRowWriter
  readonly removals: RowRemovals
  readonly policy: WritePolicy
}

export interface EntityWriter {
  /** Rejects with `OUTCOME_UNKNOWN` if a commit may have taken place or may still. Any other error means that nothing was written. */
  write(id: Uint8Array, decide: Decide, options: EntityWriteOptions): Promise<WriteOutcome>
}

/** Writes entities by the three laws of the protocol, in their order. The cleaner deletes the index rows of a write without a commit. */
export function createEntityWriter(parts: WriterParts): EntityWriter {
  const { context, lanesOf, reader, indexRows, removals, policy, happened } = parts
  const now = elapsedBy(context.time)
  const rowSteps = createRowSteps(indexRows, policy)
  const states = createCommittedStates()

  /**
   * Takes claims of unique keys. If that fails and the entity is `unknown`, deletes these claims, and the earlier claims and rows in `written`.
   * An entity is unknown if its id was made for this call and no attempt may have committed it: no other write relies on its claims and rows.
   * The claims and rows of any other entity stay for the cleaner, or for the next entity with the key.
   */
  async function claim(
    placement: Placement,
    keys: readonly PlacedKey[],
    written: readonly PlacedKey[],
    id: Uint8Array,
    version: number,
    isUnknown: boolean,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    try {
      await indexRows.claim(placement, keys, id, version, signal)
    } catch (error) {
      if (isUnknown) removals.now([...keys, ...written], id, version + 1)
      throw error
    }
  }

  /** Repeats attempts until one wins or the decision is to write nothing. Waits for a bucket that is handed over. Adds attempts without an answer to `unsettled`. */
  async function writeInAttempts(
    id: Uint8Array,
    decide: Decide,
    unsettled: UnsettledAttempts,
    { signal, isFresh = false, ifVersion }: EntityWriteOptions,
  ): Promise<WriteOutcome> {
    const endsAt = now() + policy.writeTimeoutMs
    /** Rows written by attempts that did not win. */
    const supersededRows: PlacedKey[] = []
    /** Returns the outcome of the attempt that was committed, and has the rows deleted that it has lost (law 3). */
    const committed = (
      version: number,
      { found, body, bag, rows, indexed, catalog, shard }: Attempt,
    ): WriteOutcome | Promise<WriteOutcome> => {
      states.keep(id, version, body)
      if (policy.writeOrder === 'entity-first') {
        return rowSteps.late(catalog.placement, rows, id, version, signal).then((allWritten) => ({
          found,
          written: true,
          version,
          indexed: allWritten,
        }))
      }
      if (catalog.policies.deleteDelayMs === 0) {
        const epoch = catalog.epochs[shard] ?? 0
        removals.now(rows.deletedNow, id, version)
        const superfluous = superfluousRows(catalog, supersededRows, bag)
        const later = superfluous.length === 0 ? rows.deletedLater : [...rows.deletedLater, ...superfluous]
        removals.later(later, { entityId: id, version, shard, epoch })
      }
      return { found, written: true, version, indexed }
    }

    /** The error that ended the last attempt; undefined if another write of the entity did. */
    let obstacle: LooseleafError | undefined
    /** The entity, with its shard by the catalog of the last attempt. */
    let target: WriteTarget | undefined
    /** All attempts that have begun. An attempt that a changed epoch refused is no try: a move changes the epoch for each group of buckets. */
    let attempts = 0
    let tries = 0
    let wait: WaitForBucket | undefined
    /** True once local rows have failed an attempt, so that the next ones send them by statements of their own. */
    let staysFar = false
    while (tries < MAX_TRIES) {
      const isLate = (attempts > 0 || wait !== undefined) && now() >= endsAt
      // All shards of the attempt come from this catalog, whose epoch the commit carries.
      const catalog = context.catalog.current()
      const { placement } = catalog
      const shard = placement.shardOfId(id)
      const lane = lanesOf(shard)
      target = { id, shard: lane.shard }
      if (isLate && unsettled.size === 0) throw tooLate(target, attempts, obstacle)
      if (!isLate && !isWritable(placement, id)) {
        wait ??= createBucketWait(context, endsAt)
        await wait(id, catalog, { signal })
        continue
      }
      const isFirst = attempts === 0
      attempts++
      const given = isFirst && ifVersion !== undefined ? states.take(id, ifVersion) : undefined
      const decideFor = (found: CurrentEntity): Decided => ({
        found,
        // The decision may change the decoded bag.
        oldKeys: keysOf(catalog, found.bag),
        bag: decide(found),
      })
      const guess =
        given && decideKnown(reader, { id, version: ifVersion!, body: given }, lane.shard, decideFor)
      const current =
        guess?.found ?? (isFresh && isFirst ? NOTHING : await findEntity(reader, id, lane.shard, signal))
      const landed = committedAttempt(unsettled, current)
      if (landed !== undefined) {
        const readVersions = async () => [(await reader.row(id, { signal }))?.version]
        if (await isDurable(context, current.version, [id], { signal, readVersions }))
          return committed(current.version, landed)
        tries++
        continue
      }
      requireSameBase(unsettled, current, target)
      if (isLate) throw tooLate(target, attempts - 1, obstacle)

      const { found, oldKeys, bag } = guess ?? decideFor(current)
      if (bag === undefined) {
        requireNoneUnsettled(unsettled, target)
        return { found, written: false, version: found.version, indexed: true }
      }

      const body = bag === null ? null : context.codec.encode(bag)
      const change = diffAll(catalog, context.codec, id, oldKeys, found.body, bag)
      const version = context.clock.next(found.version)
      const split: SplitChange = staysFar
        ? withoutLocal(change)
        : splitAttempt(catalog, policy, shard, { id, version }, change)
      const { rows, local, localClaims } = split
      // The commit carries this shard's epoch, so its catalog decides. The catalogs of other shards may be one change behind.
      const defers = catalog.shards[shard]?.onIndexFailure === 'defer'
      const isUnknown = isFresh && unsettled.size === 0
      obstacle = undefined
      let sent: Attempt | undefined
      let outcome: CommitOutcome | 'undone'
      const epoch = catalog.epochs[shard] ?? 0
      try {
        if (rows.claimed.length > 0)
          await claim(placement, rows.claimed, supersededRows, id, version, isUnknown, signal)
        const upserts = rowSteps.early(placement, rows, id, version, found.version, signal)
        const failures = upserts === NONE ? NONE : await upserts
        const deferred = failures.length === 0 ? NONE : deferredTables(failures, defers)
        if (deferred.length > 0) happened({ kind: 'deferred', tables: deferred, shard: lane.shard })
        sent = { found, body, bag, rows, catalog, shard, indexed: deferred.length === 0 }
        const baseBody = guess === undefined ? undefined : found.body
        const row = { id, version, body, base: found.version, baseBody, epoch, deferred, local }
        const writes: EntityWrites = {
          insert: (next) => lane.insert.submit(next, signal),
          replace: (next) => lane.replace.submit(next, signal),
        }
        const send = (next: Commit): Promise<CommitOutcome> =>
          commit(next, writes, (error) => (obstacle = error))
        const sending = send(row)
        outcome = await (localClaims.length === 0
          ? sending
          : unlessTaken(sending, async () => {
              const written = [...rows.claimed, ...rows.gained]
              await claim(placement, localClaims, written, id, version, isUnknown, signal)
              return send({ ...row, local: { ...local, claims: undefined } })
            }))
      } catch (error) {
        const failsLocally =
          sent !== undefined &&
          local !== undefined &&
          mayBeOfLocalRows(error, defers || policy.writeOrder === 'entity-first')
        // No statement has compared a state from memory, so the next attempt reads the entity.
        const isOfGuess = guess !== undefined && isLooseleafError(error, 'DUPLICATE_KEY')
        if (isOfGuess || (await isOfReplaced(error, reader, [{ id }], [found], signal))) {
          outcome = 'superseded'
        } else if (failsLocally || isUndone(error)) {
          // The attempt has written no entity, and will never be committed.
          outcome = 'undone'
          obstacle = error
          staysFar ||= failsLocally
        } else throw error
      }
      if (outcome === 'won') return committed(version, sent as Attempt)
      happened({ kind: 'attempt', outcome, shard: lane.shard })
      supersededRows.push(...change.gained)
      if (outcome === 'stale') {
        await catchUp(context, shard, { signal })
        if (context.catalog.latest().epochs[shard] !== epoch) continue
      }
      if (outcome === 'unsettled')
        unsettled.set(version, { ...(sent as Attempt), reason: obstacle as LooseleafError })
      const collides = outcome === 'superseded' || outcome === 'undone'
      const pause = collides ? Math.min(pauseAfter(tries, context.random), endsAt - now()) : 0
      tries++
      if (pause > 0 && tries < MAX_TRIES) await context.time.sleep(pause, signal)
    }
    throw tooManyAttempts(target as WriteTarget, MAX_TRIES, obstacle)
  }

  return {
    async write(id, decide, options) {
      const unsettled: UnsettledAttempts = new Map()
      try {
        return await writeInAttempts(id, decide, unsettled, options)
      } catch (error) {
        // An unsettled attempt may have been committed, or may still be, whichever error ended the last one.
        throw unsettled.size === 0 ? error : unknownOutcome(id, unsettled, options, error)
      }
    },
  }
}
