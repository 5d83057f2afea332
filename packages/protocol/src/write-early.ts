import { isLooseleafError, LooseleafError, type CatalogEntry, type IndexRow } from '@looseleaf/core'
import { tableSpec, type EngineContext } from '@looseleaf/index-engine'
import { duplicateKey, isHeld, takeKey, type TakeKey } from './claims.ts'
import { sendByTable, unlessDropped, type PlacedKey, type RowFailure, type RowLanesOf } from './index-rows.ts'
import { shardAt } from './shards.ts'

/**
 * Law 1 of a writer: when it resolves, the rows of these keys are there with at least this version, which is about to be
 * committed, but for those of the failures. All are waited for, so that no row is still on its way when the attempt fails.
 */
export async function writeEarly(
  context: EngineContext,
  lanesOf: RowLanesOf,
  rows: readonly PlacedKey[],
  entityId: Uint8Array,
  version: number,
  signal?: AbortSignal,
): Promise<readonly RowFailure[]> {
  const failures = await sendByTable(context, lanesOf, rows, entityId, ({ upsert }, group) =>
    upsert.submitAll(
      group.map(({ key, included }) => ({ key, entityId, version, included })),
      signal,
    ),
  )
  if (failures.length === 0) return failures
  return failures.map(({ table, error }) => ({ table, error: beforeCommit(error) }))
}

/**
 * Law 1 for keys of unique indexes: when it resolves, the entity holds them, so that a commit of this version has them to
 * itself. Throws `DUPLICATE_KEY`, and whatever keeps it from knowing; the keys that it holds by then are left to the
 * cleaner, or to who wants them next.
 */
export async function claimEarly(
  context: EngineContext,
  take: TakeKey,
  keys: readonly PlacedKey[],
  entityId: Uint8Array,
  version: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  // The first that cannot be had ends the work for the others: it would end attempts of others for nothing.
  const ended = new AbortController()
  let failure: { readonly error: unknown } | undefined
  const both = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal])
  const takeOne = async ({ entry, key }: PlacedKey): Promise<void> => {
    const holder = await takeKey(context, take, { entry, key, entityId, version }, both)
    if (holder !== undefined) throw duplicateKey(entry, entityId, holder)
  }
  await Promise.all(
    keys.map(async (key) => {
      try {
        await takeOne(key)
      } catch (error) {
        const failed = await unlessDropped(context, key.entry, error)
        if (failed === undefined) return
        failure ??= failed
        ended.abort()
      }
    }),
  )
  if (failure !== undefined) throw beforeCommit(failure.error)
}

/** Whether a row was written or not, the entity was not: a row too many is for the cleaner, and it may be written again. */
function beforeCommit(error: unknown): unknown {
  if (!isLooseleafError(error) || !error.unknownOutcome) return error
  const code = error.code === 'OUTCOME_UNKNOWN' ? 'SHARD_UNAVAILABLE' : error.code
  return new LooseleafError(code, `${error.message} The entity was not written.`, {
    shard: error.shard,
    cause: error,
  })
}

/** A key that is not its entity's alone: another one is committed with it. */
export interface DuplicateKey {
  /** The id of the entity that should have the key. */
  readonly entityId: Uint8Array
  /** The id of the other entity, which holds the key. */
  readonly holder: Uint8Array
}

/** Claims that could not be had. */
export interface UntakenClaims {
  readonly duplicates: readonly DuplicateKey[]
  /** How many are left to a later pass: a failover may still bring back who has given them up, or others are at them. */
  readonly later: number
}

/** Sends a statement, which may be timed on its way. */
type SendStatement = <T>(statement: () => Promise<T>) => Promise<T>

/**
 * Law 1 of a cleaner: writes rows of entities that were read at these versions, to one table; no stamp gets lower. A writer that
 * has moved the entity meanwhile may have deleted such a row before it was written again: it dangles then, with a stamp below
 * the entity's version, so whoever calls this looks at the version of the entity afterwards. Claims are taken, from
 * entities that have left them behind as well; answers those that could not be. `send` is given the statement that writes
 * them all; to wait for claims that others want is not part of it.
 */
export async function writeAgain(
  context: EngineContext,
  entry: CatalogEntry,
  number: number,
  rows: readonly IndexRow[],
  signal: AbortSignal | undefined,
  send: SendStatement = (statement) => statement(),
): Promise<UntakenClaims> {
  const spec = tableSpec(entry)
  const shard = shardAt(context, number)
  if (!entry.unique) {
    await send(() => shard.index(spec).upsert(rows, { signal }))
    return { duplicates: [], later: 0 }
  }
  const take: TakeKey = async (at, table, row, own) =>
    (await shardAt(context, at).claims(table).take([row], { signal: own }))[0]
  const claims = await send(() => shard.claims(spec).take(rows, { signal }))
  const duplicates: DuplicateKey[] = []
  let later = 0
  for (const [i, row] of rows.entries()) {
    if (isHeld(claims[i], row)) continue
    try {
      const holder = await takeKey(context, take, { entry, ...row }, signal)
      if (holder !== undefined) duplicates.push({ entityId: row.entityId, holder })
    } catch (error) {
      // One key that has to wait keeps nobody from the others.
      if (!isLooseleafError(error, 'CONFLICT')) throw error
      later++
    }
  }
  return { duplicates, later }
}
