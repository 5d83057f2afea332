import { isLooseleafError, LooseleafError } from '@looseleaf/core'
import type { CatalogEntry, IndexRow } from '@looseleaf/core/internal'
import { tableSpec, type EngineContext, type Placement } from '@looseleaf/index-engine/internal'
import { duplicateKey, isHeld, takeKey, takeKeyAt, type TakeKey } from './claims.ts'
import {
  failureUnlessDropped,
  sendByTable,
  type PlacedKey,
  type RowFailure,
  type RowLanesOf,
} from './index-rows.ts'
import { shardAt } from './shards.ts'
import type { Measured } from './throttle/throttle.ts'

/**
 * Law 1 for writers: upserts the rows of these keys, stamped with the version that will be committed, on the shards that they have by the
 * catalog of the attempt. Resolves with the failures when all rows have ended, so that no row is in flight when the attempt fails. All
 * other rows then exist with at least this version.
 */
export async function writeEarly(
  context: EngineContext,
  lanesOf: RowLanesOf,
  placement: Placement,
  rows: readonly PlacedKey[],
  entityId: Uint8Array,
  version: number,
  signal?: AbortSignal,
): Promise<readonly RowFailure[]> {
  const failures = await sendByTable(context, lanesOf, placement, rows, entityId, ({ upsert }, group) =>
    upsert.submitAll(
      group.map(({ key, included }) => ({ key, entityId, version, included })),
      signal,
    ),
  )
  return failures.map(({ table, error }) => ({ table, error: beforeCommit(error) }))
}

/**
 * Law 1 for unique indexes: takes the claims of these keys, so that no other entity can commit with them. Throws `DUPLICATE_KEY` if another
 * entity has one of them, and the error of a statement that failed. Claims that it holds by then stay for the cleaner, or for the next
 * entity that takes them.
 *
 * If another entity is committed with a key, `mayPass` decides whether the commit takes the key from that entity in its own transaction.
 * Default: it does not.
 */
export async function claimEarly(
  context: EngineContext,
  take: TakeKey,
  placement: Placement,
  keys: readonly PlacedKey[],
  entityId: Uint8Array,
  version: number,
  signal: AbortSignal | undefined,
  mayPass?: (key: PlacedKey, holder: Uint8Array) => boolean,
): Promise<void> {
  // The first failure ends the other tries, which could fence attempts of other entities for nothing.
  const ended = new AbortController()
  let failure: { readonly error: unknown } | undefined
  const eitherSignal = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal])
  const takeOne = async (wanted: PlacedKey): Promise<void> => {
    const { entry, key } = wanted
    const holder = await takeKey(context, take, placement, { entry, key, entityId, version }, eitherSignal)
    if (holder === undefined || mayPass?.(wanted, holder)) return
    throw duplicateKey(context, entry, entityId, holder)
  }
  await Promise.all(
    keys.map(async (key) => {
      try {
        await takeOne(key)
      } catch (error) {
        const keyFailure = await failureUnlessDropped(context, key.entry, error)
        if (keyFailure === undefined) return
        failure ??= keyFailure
        ended.abort()
      }
    }),
  )
  if (failure !== undefined) throw beforeCommit(failure.error)
}

/** Converts an unknown outcome of a row: the entity was certainly not written, so its write may be retried. The cleaner deletes an extra row. */
function beforeCommit(error: unknown): unknown {
  if (!isLooseleafError(error) || !error.unknownOutcome) return error
  const code = error.code === 'OUTCOME_UNKNOWN' ? 'SHARD_UNAVAILABLE' : error.code
  const message = `${error.message} This concerns an index row only: the entity was not written.`
  return new LooseleafError(code, message, { shard: error.shard, cause: error })
}

/** A claim whose key another entity is committed with. */
export interface DuplicateKey {
  readonly claim: IndexRow
  /** Id of the other entity. */
  readonly holder: Uint8Array
}

/** Claims that could not be taken. */
export interface UntakenClaims {
  readonly duplicates: readonly DuplicateKey[]
  /** Claims for a later pass: a failover may restore their holder, or other entities compete for them. */
  readonly later: readonly IndexRow[]
}

/**
 * Law 1 for cleaners: writes rows of one table of one shard for entities that were read at these versions. No stamp decreases. A row may dangle
 * afterwards, so the caller has to read the versions of the entities again:
 * 1. The cleaner reads the entity at version v.
 * 2. A writer commits a later version without the key, and deletes the row.
 * 3. This call writes the row again, with the stamp v.
 *
 * For a unique index it takes claims instead, even from entities that no longer have the key, and resolves with those that could not be
 * taken. `send` sends the one statement for all rows. Waiting for contested claims is not part of it.
 */
export async function writeAgain(
  context: EngineContext,
  entry: CatalogEntry,
  number: number,
  rows: readonly IndexRow[],
  signal: AbortSignal | undefined,
  send: Measured = (statement) => statement(),
): Promise<UntakenClaims> {
  const spec = tableSpec(entry)
  const shard = shardAt(context, number)
  if (!entry.unique) {
    await send(() => shard.index(spec).upsert(rows, { signal }))
    return { duplicates: [], later: [] }
  }
  const take: TakeKey = async (shardNumber, table, row, takeSignal) =>
    (await shardAt(context, shardNumber).claims(table).take([row], { signal: takeSignal }))[0]
  const claims = await send(() => shard.claims(spec).take(rows, { signal }))
  const duplicates: DuplicateKey[] = []
  const later: IndexRow[] = []
  for (const [i, row] of rows.entries()) {
    if (isHeld(claims[i], row)) continue
    try {
      const holder = await takeKeyAt(context, take, number, { entry, ...row }, signal)
      if (holder !== undefined) duplicates.push({ claim: row, holder })
    } catch (error) {
      // A contested key must not delay the other keys.
      if (!isLooseleafError(error, 'CONFLICT')) throw error
      later.push(row)
    }
  }
  return { duplicates, later }
}
