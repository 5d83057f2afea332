import { formatId, isLooseleafError, LooseleafError } from '@looseleaf/core'
import {
  elapsedBy,
  isUndecodable,
  isVersion,
  type CatalogEntry,
  type EntityRow,
  type IndexRow,
  type IndexTableSpec,
  type Key,
} from '@looseleaf/core/internal'
import {
  deriveClaims,
  isClaimsOf,
  isInUse,
  keyIdentity,
  propertyText,
  shardsOfRow,
  tableSpec,
  type EngineContext,
  type Placement,
} from '@looseleaf/index-engine/internal'
import { fence } from './fence.ts'
import { readAtOwners } from './owners/read-at-owners.ts'
import { movedOrUndone, type SeenEntity } from './on-disk.ts'
import { deleteDelayMs, learnPolicies, mayBeLost } from './policies.ts'
import { shardAt } from './shards.ts'

/** A key of a unique index that an attempt needs. */
export interface WantedKey {
  readonly entry: CatalogEntry
  readonly key: Key
  /** 16 bytes. */
  readonly entityId: Uint8Array
  /** Version that the attempt will commit. */
  readonly version: number
}

/** Takes a key like `ClaimTable.take`. Calls may share statements. */
export type TakeKey = (
  shard: number,
  spec: IndexTableSpec,
  row: IndexRow,
  signal: AbortSignal | undefined,
) => Promise<IndexRow | undefined>

/** Tries before `CONFLICT`. This many changes of the holder in a row are no accident. */
const MAX_TRIES = 64

/** Time that another entity's attempt in flight has to commit before it is fenced. */
const PATIENCE_MS = 250
/** Longest pause between two reads of that attempt. */
const PAUSE_MS = 30

/**
 * Takes a key for an entity by `takeKeyAt` on every shard where its claims are written, by the catalog of the attempt. Takes the source
 * of a move before the target, so two writers that want the key meet at the source.
 */
export function takeKey(
  context: EngineContext,
  take: TakeKey,
  placement: Placement,
  wanted: WantedKey,
  signal?: AbortSignal,
): Promise<Uint8Array | undefined> {
  const [first, second] = shardsOfRow(wanted.entry, placement, wanted.key, wanted.entityId)
  const holder = takeKeyAt(context, take, first!, wanted, signal)
  if (second === undefined) return holder
  return holder.then((found) => found ?? takeKeyAt(context, take, second, wanted, signal))
}

/**
 * Takes a key for an entity on one shard. Resolves with the id of another entity that is committed with the key. Otherwise resolves with
 * undefined: the entity holds the key, stamped with this version or a greater one, so a commit of this version, from the base that was
 * read before, has the key to itself.
 *
 * If another entity holds the claim, there are three cases:
 * 1. The holder is committed with the key. The key is not taken.
 * 2. The holder's version is below the claim's stamp, so an attempt of it may be in flight. This call waits up to 250 ms, then fences
 *    the holder above the stamp. After that no attempt that relies on this claim can commit.
 * 3. The holder's version is not below the stamp, so no attempt that relies on this claim can commit. A crash may still undo
 *    the version that was read, so it has to be on disk first.
 *
 * In cases 2 and 3 the claim is then swapped, if it still has the stamp that was read: a later attempt of the holder would
 * have raised it.
 *
 * Throws `CONFLICT` in a store with `deleteDelayMs` after a fence, or if the holder gave the key up so recently that a failover may bring it
 * back. Throws it in any store after 64 tries.
 */
export async function takeKeyAt(
  context: EngineContext,
  take: TakeKey,
  shard: number,
  { entry, key, entityId, version }: WantedKey,
  signal?: AbortSignal,
): Promise<Uint8Array | undefined> {
  const spec = tableSpec(entry)
  const claims = shardAt(context, shard).claims(spec)
  const isOver = createPatience(context)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const readAt = context.time.now()
    const claim = await take(shard, spec, { key, entityId, version }, signal)
    if (isHeld(claim, { entityId, version })) return undefined
    // The claim was deleted in between, or belongs to an earlier attempt of this entity.
    if (claim === undefined || sameId(claim.entityId, entityId)) continue
    const holder = await readHolder(context, claim.entityId, signal)
    if (await hasKey(context, entry, key, holder.row)) return claim.entityId
    const isInFlight = claim.version > holder.version
    if (isInFlight && !isOver(claim)) {
      await context.time.sleep(1 + context.random.next() * PAUSE_MS, signal)
      continue
    }
    if (isInFlight) {
      if ((await fence(context, holder, claim.version, { signal })) === undefined) continue
      if (deleteDelayMs(context) > 0) throw tooEarly(context, entry, entityId, holder)
    } else {
      await learnPolicies(context, [holder.id], signal)
      if (holder.row !== undefined && mayBeLost(context, holder.row, readAt))
        throw tooEarly(context, entry, entityId, holder)
      if ((await movedOrUndone(context, [holder], { signal })).length > 0) continue
    }
    await ignoreUnknownOutcome(claims.swap(claim, { entityId, version }, { signal }))
  }
  throw new LooseleafError(
    'CONFLICT',
    `Index ${entry.name}: entity ${formatId(entityId)} could not take its key: other entities took it and gave it up ${MAX_TRIES} times in a row.`,
    { entity: formatId(entityId), index: entry.name },
  )
}

/** Tells whether an attempt at this version may commit: the entity holds the claim, with this stamp or a greater one. */
export function isHeld(
  claim: IndexRow | undefined,
  { entityId, version }: Pick<IndexRow, 'entityId' | 'version'>,
): boolean {
  return claim !== undefined && sameId(claim.entityId, entityId) && claim.version >= version
}

interface Holder extends SeenEntity {
  readonly row: EntityRow | undefined
}

/** Reads the holder at the owner of its bucket. An earlier owner may still have a state whose key the entity has given up since. */
async function readHolder(
  context: EngineContext,
  id: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<Holder> {
  let row: EntityRow | undefined
  await readAtOwners(
    context,
    [id],
    async ({ shard, ids, areOwned }) => {
      const [found] = await shard.entities.read(ids, { signal })
      if (!(await areOwned())) return ids
      row = found
      return []
    },
    { signal },
  )
  return { id, version: row?.version ?? 0, row }
}

/** Tells whether an entity is committed with the key. A body that cannot be decoded may have the key, so it counts as having it. */
export async function hasKey(
  context: EngineContext,
  entry: CatalogEntry,
  key: Key,
  row: EntityRow | undefined,
): Promise<boolean> {
  if (row === undefined) return false
  if (!isVersion(row.version)) return true
  if (row.body === null) return false
  const identity = keyIdentity(key)
  const { name } = shardAt(context, context.catalog.current().placement.shardOfId(row.id))
  try {
    const bag = await context.bodies.decode(row.body, name)
    return deriveClaims(entry, bag).some((claimed) => keyIdentity(claimed) === identity)
  } catch (error) {
    if (isUndecodable(error)) return true
    throw error
  }
}

/** Tells whether an attempt has had its time to commit. A claim with another holder or stamp belongs to another attempt. */
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

/** Ignores an unknown outcome, because the next try reads the claim. */
async function ignoreUnknownOutcome(work: Promise<unknown>): Promise<void> {
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
    `Index ${name}: entity ${entity} cannot take its key yet. Entity ${holder} had or wanted it, and for ${deleteDelayMs(context)} ms (deleteDelayMs) a failover may restore that. Retry after that.`,
    { entity, index: name, holder },
  )
}

function sameId(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

/**
 * Creates the error of a write whose key another entity has. Names the generations with these claims if another generation in use has
 * other keys, because the program of the writer may define only that one.
 */
export function duplicateKey(
  { catalog }: EngineContext,
  claims: CatalogEntry,
  entityId: Uint8Array,
  holderId: Uint8Array,
): LooseleafError {
  const { name } = claims
  const [entity, holder] = [formatId(entityId), formatId(holderId)]
  const generations = catalog
    .current()
    .indexes.filter((entry) => entry.name === name && !entry.unique && isInUse(entry))
  const claiming = generations.filter((rows) => isClaimsOf(claims, rows))
  const isAmbiguous = claiming.length > 0 && claiming.length < generations.length
  const which = isAmbiguous
    ? `, ${generationsText(claiming)} (${claims.properties.map(propertyText).join(', ')}),`
    : ''
  const why = isAmbiguous
    ? ` Writes of all programs have to satisfy every generation in use: ${numbersOf(generations)}.`
    : ''
  return new LooseleafError(
    'DUPLICATE_KEY',
    `Index ${name}${which} is unique: entity ${entity} was not written, because entity ${holder} has its key.${why}`,
    { entity, index: name, holder },
  )
}

const numbersOf = (entries: readonly CatalogEntry[]): string =>
  entries.map(({ generation }) => generation).join(', ')

const generationsText = (entries: readonly CatalogEntry[]): string =>
  `generation${entries.length === 1 ? '' : 's'} ${numbersOf(entries)}`
