import { LooseleafError, type CallOptions } from '@looseleaf/core'
import { elapsedBy, isUndone, type BatchRow, type HandedClaim } from '@looseleaf/core/internal'
import { isWritable, type PlacedCatalog } from '@looseleaf/index-engine/internal'
import {
  catchUp,
  commitAll,
  createBucketWait,
  shardAt,
  type CommitOutcome,
  type PlacedKey,
  type WaitForBucket,
} from '@looseleaf/protocol/internal'
import { MAX_TRIES, pauseAfter } from '../back-off.ts'
import type { CurrentEntity } from '../decisions.ts'
import type { WriteOutcome, WriterParts } from '../entity-writer.ts'
import { diffAll, keysOf, type SplitChange } from '../row-change.ts'
import { deferredTables, mayBeOfLocalRows } from '../row-failures.ts'
import { withoutLocal } from '../split-attempt.ts'
import { superfluousRows } from '../superseded-attempts.ts'
import { createRowSteps, findEntity, isOfReplaced, NOTHING, unlessTaken } from '../write-steps.ts'
import { givenUp, unknownBatch, type BatchTarget } from './batch-errors.ts'
import { passedKeys, requireDistinctKeys } from './batch-keys.ts'
import {
  defersOf,
  inOrder,
  isWritten,
  NO_ROWS,
  ofItem,
  rowsOf,
  splitItems,
  withoutClaims,
  type BatchAttempt,
  type PlannedItem,
  type SplitItem,
} from './planned-items.ts'
import { readBack, type UnsettledBatch } from './read-back.ts'
import type { TakenItem } from './take-items.ts'

export interface BatchWriter {
  /**
   * Writes all items in one transaction on the shard of their bucket, or none. Rejects with `OUTCOME_UNKNOWN` if the transaction may have
   * been committed or may still be. Any other error means that nothing was written.
   */
  write(items: readonly TakenItem[], options: CallOptions): Promise<readonly WriteOutcome[]>
}

/** Largest sum of the bodies of a batch in bytes. The transaction holds its locks until all of them were sent. */
export const MAX_BATCH_BYTES: number = 64 * 1024 * 1024

/**
 * Writes batches by the three laws of the protocol. Far claims and far rows of all items come first, as for single writes; then one transaction
 * compares every entity with the version that was read, and writes all of them with their local rows and claims. An item that writes nothing is held at its version. If it has no
 * stored row, a tombstone is inserted, so that no other write can insert the entity before the commit.
 */
export function createBatchWriter(parts: WriterParts): BatchWriter {
  const { context, lanesOf, reader, indexRows, removals, policy, happened } = parts
  const now = elapsedBy(context.time)
  const rowSteps = createRowSteps(indexRows, policy)

  /** Decides every item by the state that was found, and derives its index rows. */
  function plan(
    items: readonly TakenItem[],
    states: readonly CurrentEntity[],
    catalog: PlacedCatalog,
  ): readonly PlannedItem[] {
    const planned = items.map((item, place) => {
      const found = states[place]!
      return ofItem(item, place, () => {
        const oldKeys = keysOf(catalog, found.bag)
        const bag = item.decide(found)
        if (bag === undefined) return { item, found, bag, body: null, rows: NO_ROWS }
        const body = bag === null ? null : context.codec.encode(bag)
        const rows = diffAll(catalog, context.codec, item.id, oldKeys, found.body, bag)
        return { item, found, bag, body, rows }
      })
    })
    const bytes = planned.reduce((sum, { body }) => sum + (body?.length ?? 0), 0)
    if (bytes > MAX_BATCH_BYTES)
      throw new LooseleafError(
        'BODY_TOO_LARGE',
        `The bodies of a batch may have ${MAX_BATCH_BYTES} bytes together; these have ${bytes}. Nothing was written.`,
      )
    return planned
  }

  /** Takes these claims of all items, except those that the transaction hands over. */
  async function claim(
    { planned, version, catalog: { placement }, shard }: Omit<BatchAttempt, 'deferred'>,
    keysOfItem: (split: SplitChange) => readonly PlacedKey[],
    mayBeCommitted: boolean,
    signal: AbortSignal | undefined,
  ): Promise<readonly HandedClaim[]> {
    const handed: HandedClaim[] = []
    const pass = passedKeys(planned, placement, shard)
    const claiming = inOrder(planned, async ({ item, split: own }) => {
      const keys = keysOfItem(own)
      if (keys.length === 0) return
      const mayPass = (wanted: PlacedKey, holder: Uint8Array): boolean => {
        const claimed = pass(wanted, holder, item, version)
        if (claimed !== undefined) handed.push(claimed)
        return claimed !== undefined
      }
      await indexRows.claim(placement, keys, item.id, version, signal, mayPass)
    })
    try {
      await claiming
    } catch (error) {
      // No other write knows a fresh id, so none relies on its claims and rows. Earlier attempts have written the same.
      if (!mayBeCommitted)
        for (const { item, rows, split: own } of planned)
          if (item.isFresh) removals.now([...rows.claimed, ...own.rows.gained], item.id, version + 1)
      throw error
    }
    return handed
  }

  /** Upserts the rows of all items, and returns the tables of those that the cleaner will write. */
  async function upsert(
    { planned, version, catalog, shard }: Omit<BatchAttempt, 'deferred'>,
    signal: AbortSignal | undefined,
  ): Promise<readonly (readonly string[])[]> {
    const defers = defersOf({ catalog, shard })
    return inOrder(planned, async ({ item, split: { rows }, found }) => {
      const { placement } = catalog
      const failures = await rowSteps.early(placement, rows, item.id, version, found.version, signal)
      return deferredTables(failures, defers)
    })
  }

  /** Returns the outcomes of a committed attempt, and has the rows deleted that its entities have lost (law 3). */
  async function committed(
    { planned, version, catalog, shard, deferred }: BatchAttempt,
    superseded: readonly (readonly PlacedKey[])[],
    signal: AbortSignal | undefined,
  ): Promise<readonly WriteOutcome[]> {
    const epoch = catalog.epochs[shard] ?? 0
    const isEntityFirst = policy.writeOrder === 'entity-first'
    return Promise.all(
      planned.map(async ({ item: { id }, found, bag, split: { rows } }, place) => {
        if (bag === undefined) return { found, written: false, version: found.version, indexed: true }
        if (isEntityFirst) {
          const indexed = await rowSteps.late(catalog.placement, rows, id, version, signal)
          return { found, written: true, version, indexed }
        }
        if (catalog.policies.deleteDelayMs === 0) {
          removals.now(rows.deletedNow, id, version)
          const superfluous = superfluousRows(catalog, superseded[place]!, bag)
          removals.later([...rows.deletedLater, ...superfluous], { entityId: id, version, shard, epoch })
        }
        return { found, written: true, version, indexed: deferred[place]!.length === 0 }
      }),
    )
  }

  async function writeInAttempts(
    items: readonly TakenItem[],
    unsettled: Map<number, UnsettledBatch & BatchAttempt>,
    onTarget: (target: BatchTarget) => void,
    { signal }: CallOptions,
  ): Promise<readonly WriteOutcome[]> {
    const endsAt = now() + policy.writeTimeoutMs
    const anchor = items[0]!.id
    /** Rows written by attempts that did not win, by item. */
    const superseded: PlacedKey[][] = items.map(() => [])
    /** The error that ended the last attempt; undefined if another write of an entity did. */
    let obstacle: LooseleafError | undefined
    /** Place of an item that another write has changed during the last attempt. */
    let lost: number | undefined
    let attempts = 0
    let tries = 0
    let wait: WaitForBucket | undefined
    /** True once local rows have failed an attempt, so that the next ones send them by statements of their own. */
    let staysFar = false
    for (;;) {
      const isLate = (attempts > 0 || wait !== undefined) && now() >= endsAt
      // All shards of the attempt come from this catalog, whose epoch the commit carries.
      const catalog = context.catalog.current()
      const shard = catalog.placement.shardOfId(anchor)
      const target = { items, shard: lanesOf(shard).shard }
      onTarget(target)
      const isOver = isLate || tries >= MAX_TRIES
      if (isOver && unsettled.size === 0)
        throw givenUp(isLate ? 'DEADLINE' : 'CONFLICT', target, attempts, lost, obstacle)
      if (!isOver && !isWritable(catalog.placement, anchor)) {
        wait ??= createBucketWait(context, endsAt)
        await wait(anchor, catalog, { signal })
        continue
      }
      if (unsettled.size > 0) {
        const outcome = await readBack(context, reader, [...unsettled.values()], { signal })
        if (typeof outcome === 'object') return committed(outcome, superseded, signal)
        if (outcome === 'refuted') unsettled.clear()
        if (isOver) throw givenUp(isLate ? 'DEADLINE' : 'CONFLICT', target, attempts, lost, obstacle)
      }

      const isFirst = attempts === 0
      attempts++
      const states = await Promise.all(
        items.map(({ id, isFresh }) =>
          isFresh && isFirst ? NOTHING : findEntity(reader, id, target.shard, signal),
        ),
      )
      if (!haveBasesOf(unsettled, states)) {
        tries++
        continue
      }
      const decided = plan(items, states, catalog)
      const version = context.clock.next(Math.max(...states.map((found) => found.version)))
      const planned: readonly SplitItem[] = staysFar
        ? decided.map((each) => ({ ...each, split: withoutLocal(each.rows) }))
        : splitItems(decided, { catalog, shard, version }, policy)
      const begun = { version, planned, catalog, shard }
      obstacle = undefined
      lost = undefined
      let sent: BatchAttempt | undefined
      let outcome: CommitOutcome | 'undone'
      const epoch = catalog.epochs[shard] ?? 0
      try {
        requireDistinctKeys(decided)
        const claims = await claim(begun, ({ rows }) => rows.claimed, unsettled.size > 0, signal)
        const deferred = await upsert(begun, signal)
        const tables = [...new Set(deferred.flat())]
        if (tables.length > 0) happened({ kind: 'deferred', tables, shard: target.shard })
        sent = { ...begun, deferred }
        const rows = rowsOf(sent)
        const { entities } = shardAt(context, shard)
        const send = (some: readonly BatchRow[]): Promise<CommitOutcome> =>
          commitAll(
            () => entities.writeAll(some, { epoch, claims, signal }),
            ([first]) => (lost = first),
            (error) => (obstacle = error),
          )
        outcome = await unlessTaken(send(rows), async () => {
          await claim(begun, ({ localClaims }) => localClaims, unsettled.size > 0, signal)
          return send(rows.map(withoutClaims))
        })
      } catch (error) {
        const failsLocally =
          sent !== undefined &&
          planned.some(({ split: { local } }) => local !== undefined) &&
          mayBeOfLocalRows(error, defersOf(begun) || policy.writeOrder === 'entity-first')
        if (await isOfReplaced(error, reader, items, states, signal)) outcome = 'superseded'
        else if (failsLocally || isUndone(error)) {
          // The attempt has written no entity, and will never be committed.
          outcome = 'undone'
          obstacle = error
          staysFar ||= failsLocally
        } else throw error
      }
      if (outcome === 'won') return committed(sent!, superseded, signal)
      happened({ kind: 'attempt', outcome, shard: target.shard })
      for (const [place, { split: own }] of planned.entries()) superseded[place]!.push(...own.rows.gained)
      if (outcome === 'stale') {
        await catchUp(context, shard, { signal })
        if (context.catalog.latest().epochs[shard] !== epoch) continue
      }
      if (outcome === 'unsettled') {
        const rows = planned.map(({ item: { id }, found, bag, body }) => ({
          id,
          base: found.version,
          isWritten: isWritten(bag, found),
          body,
        }))
        unsettled.set(version, { ...sent!, rows, reason: obstacle! })
      }
      const collides = outcome === 'superseded' || outcome === 'undone'
      const pause = collides ? Math.min(pauseAfter(tries, context.random), endsAt - now()) : 0
      tries++
      if (pause > 0 && tries < MAX_TRIES) await context.time.sleep(pause, signal)
    }
  }

  return {
    async write(items, options) {
      if (items.length === 0) return []
      const unsettled = new Map<number, UnsettledBatch & BatchAttempt>()
      let target: BatchTarget | undefined
      try {
        return await writeInAttempts(items, unsettled, (found) => (target = found), options)
      } catch (error) {
        if (unsettled.size === 0) throw error
        // An attempt without an answer may have been committed, or may still be, whichever error ended the last one.
        const reasons = Array.from(unsettled.values(), ({ reason }) => reason.message)
        throw unknownBatch(target!, [...unsettled.keys()], reasons, error)
      }
    },
  }
}

/**
 * Tells whether every entity still has the base of the attempts without an answer. Only then does the next attempt shut them out: it wins from
 * the same versions, or not at all.
 */
function haveBasesOf(
  unsettled: ReadonlyMap<number, UnsettledBatch>,
  states: readonly CurrentEntity[],
): boolean {
  const [attempt] = unsettled.values()
  return attempt === undefined || attempt.rows.every(({ base }, place) => states[place]!.version === base)
}
