import { chunks, idKey, type EntityRow, isBytes } from '@looseleaf/core/internal'
import { longestBody, wholeRows } from '@looseleaf/index-engine/internal'
import { readAtOwners } from '@looseleaf/protocol/internal'
import pLimit from 'p-limit'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { deriveEntity, type DerivedEntity } from './derive-entity.ts'

/** Ids per statement. Most statements have this length, so that the server can reuse the prepared one. */
const IDS_PER_READ = 256
const SHARDS_AT_ONCE = 4

/**
 * Reads the committed rows of these ids at their owners, including tombstones, and calls `visit` with each as it arrives, so that few bodies are in memory at
 * once. An id without a row causes no call.
 */
export async function eachEntity(
  pass: Pick<Pass, 'context' | 'signal' | 'throttle'>,
  ids: Iterable<Uint8Array>,
  visit: (row: EntityRow, shard: string) => Promise<void>,
): Promise<void> {
  const { context, signal, throttle } = pass
  const limit = pLimit(SHARDS_AT_ONCE)
  await readAtOwners(
    context,
    ids,
    ({ shard, ids: group, areOwned }) =>
      limit(async () => {
        const again: Uint8Array[] = []
        for (const chunk of chunks(group, IDS_PER_READ)) {
          await throttle.rest(signal)
          const rows = await shard.entities.readBounded(chunk, longestBody(chunk.length), { signal })
          let isOwner = await areOwned()
          const existing = rows.filter((row) => row !== undefined)
          const unread = new Map(
            (isOwner ? existing.map(({ id }) => id) : chunk).map((id) => [idKey(id), id]),
          )
          for await (const batch of isOwner ? wholeRows(shard, context, existing, { signal }) : []) {
            // The long bodies of the batch were read after the page.
            isOwner &&= await areOwned()
            if (!isOwner) break
            for (const row of batch) {
              await throttle.rest(signal)
              await visit(row, shard.name)
              unread.delete(idKey(row.id))
            }
          }
          // A row whose long body has gone meanwhile was deleted by its owner.
          if (!isOwner) again.push(...unread.values())
        }
        return again
      }),
    { signal },
  )
}

/** Reads and derives the entities of these ids, each once. Includes ids without a row. */
export async function readDerived(
  pass: Pass,
  targets: readonly IndexTarget[],
  ids: Iterable<Uint8Array>,
): Promise<DerivedEntity[]> {
  const derived = new Map<string, DerivedEntity | Uint8Array>()
  for (const id of ids) derived.set(idKey(id), id)
  const distinct = [...derived.values()] as Uint8Array[]
  await eachEntity(pass, distinct, async (row) => {
    derived.set(idKey(row.id), await deriveEntity(pass, targets, row.id, row))
  })
  return Promise.all(
    Array.from(derived.values(), (found) =>
      isBytes(found) ? deriveEntity(pass, targets, found, undefined) : found,
    ),
  )
}
