import type { CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { commit } from './commit.ts'
import type { SeenEntity } from './on-disk.ts'
import { catchUp } from './purged.ts'
import { shardAt } from './shards.ts'

/** A catalog that changes so often in a row is no accident. */
const MAX_TRIES = 8

/**
 * Ends every attempt at writing this entity that began from the version that was read, or before: raises its version
 * above `stamp` and leaves its body as it is, or inserts a tombstone where there is nothing. An attempt that is still
 * on its way loses its compare-and-swap then and starts again, and stamps its rows with a greater version.
 *
 * Answers the version that the entity has now; undefined when another write came first, or when it cannot be told:
 * the entity has to be looked at again.
 */
export async function fence(
  context: EngineContext,
  { id, version: base }: SeenEntity,
  stamp: number,
  { signal }: CallOptions = {},
): Promise<number | undefined> {
  const number = context.router.shardOfId(id)
  const { entities } = shardAt(context, number)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const version = context.clock.next(Math.max(stamp, base))
    const epoch = context.catalog.current().epochs[number] ?? 0
    const [row] = base === 0 ? [] : await entities.read([id], { signal })
    if ((row?.version ?? 0) !== base) return undefined
    const outcome = await commit(
      { id, version, body: row?.body ?? null, base, epoch },
      {
        insert: (fresh) => entities.insert([fresh], { epoch, signal }),
        replace: async (next) => (await entities.replace([next], { epoch, signal })).includes(true),
      },
    )
    if (outcome === 'won') return version
    if (outcome !== 'stale') return undefined
    await catchUp(context, number, { signal })
  }
  return undefined
}
