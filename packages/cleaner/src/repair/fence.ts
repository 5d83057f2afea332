import { isLooseleafError } from '@looseleaf/core'
import type { DerivedEntity } from '../look/derive-entity.ts'
import { shardAt } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import type { Tally } from '../pass/tally.ts'

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
  pass: Pass,
  entity: DerivedEntity,
  stamp: number,
  tally: Tally,
): Promise<number | undefined> {
  const { context, signal } = pass
  const { id, version: base } = entity
  const number = context.router.shardOfId(id)
  const { entities } = shardAt(context, number)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const version = context.clock.next(Math.max(stamp, base))
    const epoch = context.catalog.current().epochs[number] ?? 0
    try {
      if (base === 0) await entities.insert([{ id, version, body: null }], { epoch, signal })
      else {
        const [row] = await entities.read([id], { signal })
        if (row?.version !== base) return undefined
        const [won] = await entities.replace([{ id, version, body: row.body, base }], { epoch, signal })
        if (won !== true) return undefined
      }
      tally.fenced++
      return version
    } catch (error) {
      if (isLooseleafError(error, 'ALREADY_EXISTS')) return undefined
      // It may have happened; the next look tells.
      if (isLooseleafError(error) && error.unknownOutcome) return undefined
      if (!isLooseleafError(error, 'STALE_EPOCH')) throw error
      await context.catalog.reload({ signal })
    }
  }
  return undefined
}
