import { isLooseleafError } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { rowText } from '../row-pages.ts'
import type { DuplicateKey } from '../write-early.ts'
import { requireAnnounced } from './attempt.ts'
import { sourceOf, targetOf, type MoveWork } from './move-work.ts'
import { loadOwn } from './own-buckets.ts'

/**
 * Deletes claims at the target whose keys other entities hold at the source, and returns how many keys there are: another pass over the source's
 * claims takes them. Two committed entities may have one key while claims are being filled:
 * 1. The source has the claim of the first one.
 * 2. A process with the catalog of an earlier move fills claims, and takes the key at the target for the second one.
 * 3. The buckets are handed over. The first one has no claim any more.
 * 4. The second one gives the key up, and a third one takes it from there.
 *
 * The source decides: every attempt takes its claims there first, as long as the catalog of the target has the move in the phase `both`. The
 * deletes carry the epoch of that catalog. Throws `CONFLICT` if the phase is over.
 *
 * The claim of a freed key may be missing at the target until that other pass, because a filler does not raise stamps:
 * 1. The target has a stray claim of an entity, and another entity has the key at the source.
 * 2. A filler takes the key at the source for the first entity, and finds its claim at the target.
 * 3. The stray claim, as it was read, is deleted.
 */
export async function freeKeys(
  work: MoveWork,
  entry: CatalogEntry,
  duplicates: readonly DuplicateKey[],
): Promise<number> {
  if (duplicates.length === 0) return 0
  const { context, move, signal } = work
  const spec = tableSpec(entry)
  const target = await loadOwn(context, move.to, { signal })
  requireAnnounced(work, target)
  const claims = duplicates.map(({ claim }) => claim)
  const [atTarget = []] = await targetOf(work).rowsOf(
    [spec],
    duplicates.map(({ holder }) => holder),
    { signal },
  )
  // After the target: an attempt of a holder that takes the key meanwhile takes it at the source first, and raises its stamp at the target.
  const [atSource = []] = await sourceOf(work).rowsOf(
    [spec],
    claims.map(({ entityId }) => entityId),
    { signal },
  )
  const held = new Set(atSource.map(rowText))
  const strays = new Map(atTarget.map((row) => [rowText(row), row]))
  const open = duplicates.filter(({ claim }) => held.has(rowText(claim)))
  const removals = open.flatMap(({ claim: { key }, holder }) => {
    const stray = strays.get(rowText({ key, entityId: holder }))
    return stray === undefined ? [] : [{ key, entityId: holder, before: stray.version + 1 }]
  })
  try {
    await targetOf(work).index(spec).remove(removals, { epoch: target.catalog.epoch, signal })
  } catch (error) {
    // The other pass finds the holders by the new catalog.
    if (!isLooseleafError(error, 'STALE_EPOCH')) throw error
  }
  return open.length
}
