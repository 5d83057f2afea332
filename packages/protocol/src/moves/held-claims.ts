import { idKey, type CatalogEntry, type EntityRow, type IndexRow } from '@looseleaf/core/internal'
import { longestBody, wholeRows } from '@looseleaf/index-engine/internal'
import { hasKey } from '../claims.ts'
import { movedOrUndone } from '../on-disk.ts'
import { learnPolicies, mayBeLost } from '../policies.ts'
import { idsByShard } from '../shards.ts'
import type { MoveWork } from './move-work.ts'

/**
 * Returns the claims whose entities are committed with their keys, with their stamps. All others are not
 * copied: an attempt in flight takes its claim at the target itself, and a dead one has none.
 *
 * Returns the claim of an entity, too, that a failover may bring back with the key (`deleteDelayMs`): the key stays reserved.
 *
 * Returns every claim of an entity that no shard serves: its target may have lost it, and a read would wait for this move. A claim too many
 * is one of a dead attempt, and does no harm.
 *
 * Each entity is read at the shard that owns it, and again if its shard has changed since. An entity without the key has to be durable:
 * 1. The entity gives its key up. The commit is visible, but not on disk.
 * 2. Its claim is not copied.
 * 3. A crash undoes the commit, so the entity has the key, and the target would give the key to another one.
 */
export async function heldClaims(
  work: MoveWork,
  entry: CatalogEntry,
  claims: readonly IndexRow[],
): Promise<readonly IndexRow[]> {
  const { context, signal } = work
  const held: IndexRow[] = []
  for (let open = claims; open.length > 0;) {
    const { epochs, placement } = context.catalog.current()
    const ids = open.map(({ entityId }) => entityId)
    const readAt = context.time.now()
    const holders = await readHolders(work, ids)
    await learnPolicies(context, ids, signal)
    if (context.catalog.current().epochs.some((epoch, shard) => epoch !== epochs[shard])) continue
    const others: IndexRow[] = []
    for (const claim of open) {
      const row = holders.get(idKey(claim.entityId))
      const isServed = placement.isServed(claim.entityId)
      const mayReturn = row !== undefined && mayBeLost(context, row, readAt)
      if (!isServed || mayReturn || (await hasKey(context, entry, claim.key, row))) held.push(claim)
      else others.push(claim)
    }
    const seen = others.map(({ entityId: id }) => ({ id, version: holders.get(idKey(id))?.version ?? 0 }))
    const moved = new Set((await movedOrUndone(context, seen, { signal })).map(({ id }) => idKey(id)))
    open = others.filter(({ entityId }) => moved.has(idKey(entityId)))
  }
  return held
}

type Holders = ReadonlyMap<string, EntityRow>

async function readHolders({ context, signal }: MoveWork, ids: readonly Uint8Array[]): Promise<Holders> {
  const holders = new Map<string, EntityRow>()
  for (const [shard, some] of idsByShard(context, ids)) {
    const rows = await shard.entities.readBounded(some, longestBody(some.length), { signal })
    const existing = rows.filter((row) => row !== undefined)
    for await (const run of wholeRows(shard, context, existing, { signal }))
      for (const row of run) holders.set(idKey(row.id), row)
  }
  return holders
}
