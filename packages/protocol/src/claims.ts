import {
  elapsedBy,
  formatId,
  isLooseleafError,
  isVersion,
  LooseleafError,
  type CatalogEntry,
  type EntityRow,
  type IndexRow,
  type IndexTableSpec,
  type Key,
} from '@looseleaf/core'
import { deriveClaims, keyIdentity, shardOfRow, tableSpec, type EngineContext } from '@looseleaf/index-engine'
import { fence } from './fence.ts'
import { movedOrUndone, type SeenEntity } from './on-disk.ts'
import { deleteDelayMs, learnPolicies, mayBeLost } from './policies.ts'
import { shardAt } from './shards.ts'

/** A key of a unique index that an attempt at writing an entity needs. */
export interface WantedKey {
  /** The catalog entry of the claims. */
  readonly entry: CatalogEntry
  readonly key: Key
  /** 16 bytes. */
  readonly entityId: Uint8Array
  /** The version about to be committed. */
  readonly version: number
}

/** Takes a key, as `ClaimTable.take` does; calls may share statements. */
export type TakeKey = (
  shard: number,
  spec: IndexTableSpec,
  row: IndexRow,
  signal: AbortSignal | undefined,
) => Promise<IndexRow | undefined>

/** Holders that move on so often in a row are no accident. */
const MAX_TRIES = 64

/** An attempt of another entity that is under way has so long to commit, before it is ended. */
const PATIENCE_MS = 250
/** Between two looks at it, at the most. */
const PAUSE_MS = 30

/**
 * Takes a key for an entity: when it resolves with undefined, the entity holds it with this version as its stamp, or a
 * greater one, and a commit of this version from the base that was read before will have it to itself. Answers the id of
 * another entity that is committed with the key.
 *
 * Whoever holds a claim has committed its key, is about to, or has left the claim behind. Of the first the key is not
 * taken. For an attempt that is under way it waits a moment; then the holder is fenced above the claim's stamp, so that no
 * attempt that relies on this claim can commit any more. Where the holder has a version above the stamp already, that is so
 * without a fence; but what was seen of it has to be on disk. After either the claim goes over, unless anybody has
 * changed it meanwhile: a later attempt of the holder would have raised its stamp.
 *
 * Throws `CONFLICT` where the holder has given the key up so lately that a failover may bring it back (`deleteDelayMs`).
 */
export async function takeKey(
  context: EngineContext,
  take: TakeKey,
  { entry, key, entityId, version }: WantedKey,
  signal?: AbortSignal,
): Promise<Uint8Array | undefined> {
  const spec = tableSpec(entry)
  const shard = shardOfRow(entry, context.router, key, entityId)
  const claims = shardAt(context, shard).claims(spec)
  const isOver = createPatience(context)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const readAt = context.time.now()
    const claim = await take(shard, spec, { key, entityId, version }, signal)
    if (isHeld(claim, { entityId, version })) return undefined
    // Gone again, or an earlier attempt's, which came between.
    if (claim === undefined || sameId(claim.entityId, entityId)) continue
    const holder = await readHolder(context, claim.entityId, signal)
    if (hasKey(context, entry, key, holder.row)) return claim.entityId
    const isUnderWay = claim.version > holder.version
    if (isUnderWay && !isOver(claim)) {
      await context.time.sleep(1 + context.random.next() * PAUSE_MS, signal)
      continue
    }
    if (isUnderWay) {
      if ((await fence(context, holder, claim.version, { signal })) === undefined) continue
      if (deleteDelayMs(context) > 0) throw tooEarly(context, entry, entityId, holder)
    } else {
      await learnPolicies(context, [holder.id], signal)
      if (holder.row !== undefined && mayBeLost(context, holder.row, readAt))
        throw tooEarly(context, entry, entityId, holder)
      if ((await movedOrUndone(context, [holder], { signal })).length > 0) continue
    }
    await unlessUnknown(claims.swap(claim, { entityId, version }, { signal }))
  }
  throw new LooseleafError(
    'CONFLICT',
    `Index ${entry.name}: entity ${formatId(entityId)} could not take its key: others took and gave it up ${MAX_TRIES} times in a row.`,
    { entity: formatId(entityId), index: entry.name },
  )
}

/** Whether a claim lets an attempt at this version commit: it is the entity's, with that stamp or a greater one. */
export function isHeld(
  claim: IndexRow | undefined,
  { entityId, version }: Pick<IndexRow, 'entityId' | 'version'>,
): boolean {
  return claim !== undefined && sameId(claim.entityId, entityId) && claim.version >= version
}

interface Holder extends SeenEntity {
  readonly row: EntityRow | undefined
}

async function readHolder(
  context: EngineContext,
  id: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<Holder> {
  const { entities } = shardAt(context, context.router.shardOfId(id))
  const [row] = await entities.read([id], { signal })
  return { id, version: row?.version ?? 0, row }
}

/** One that cannot be read may have it, and is left as it is. */
function hasKey(
  { codec }: EngineContext,
  entry: CatalogEntry,
  key: Key,
  row: EntityRow | undefined,
): boolean {
  if (row === undefined) return false
  if (!isVersion(row.version)) return true
  if (row.body === null) return false
  const identity = keyIdentity(key)
  try {
    return deriveClaims(entry, codec.decode(row.body)).some((own) => keyIdentity(own) === identity)
  } catch (error) {
    if (isLooseleafError(error)) return true
    throw error
  }
}

/** Whether an attempt has had its time: it is another one as soon as the claim has another holder or stamp. */
function createPatience({ time }: EngineContext): (claim: IndexRow) => boolean {
  const elapsed = elapsedBy(time)
  let seen: IndexRow | undefined
  let since = 0
  return (claim) => {
    if (seen?.version !== claim.version || !sameId(seen.entityId, claim.entityId)) {
      seen = claim
      since = elapsed()
    }
    return elapsed() - since >= PATIENCE_MS
  }
}

/** Whether it has happened, the next look tells. */
async function unlessUnknown(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!isLooseleafError(error) || !error.unknownOutcome) throw error
  }
}

function tooEarly(
  context: EngineContext,
  { name }: CatalogEntry,
  entityId: Uint8Array,
  { id }: Holder,
): LooseleafError {
  const [entity, holder] = [formatId(entityId), formatId(id)]
  return new LooseleafError(
    'CONFLICT',
    `Index ${name}: entity ${entity} cannot take its key yet. Entity ${holder} had or wanted it, and a failover may bring that back for ${deleteDelayMs(context)} ms (deleteDelayMs). Try again after that.`,
    { entity, index: name, holder },
  )
}

function sameId(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

/** The error of a write whose key another entity has. */
export function duplicateKey(
  { name }: Pick<CatalogEntry, 'name'>,
  entityId: Uint8Array,
  holderId: Uint8Array,
): LooseleafError {
  const [entity, holder] = [formatId(entityId), formatId(holderId)]
  return new LooseleafError(
    'DUPLICATE_KEY',
    `Index ${name} is unique: entity ${entity} was not written, because entity ${holder} has its key.`,
    { entity, index: name, holder },
  )
}
