import { formatId, type EntityId, type Fate } from '@looseleaf/core'
import { valuesOf, toError } from '@looseleaf/core/internal'
import type { TakenBag } from '../calls/take-bag.ts'
import type { PutResult } from '../types.ts'

/** Writes in flight at once: enough to fill the lanes of many shards. */
const CONCURRENCY = 512

/**
 * Puts bags concurrently, and bags with the same id in order. Copies every bag before it awaits anything. With `fates` resolves with
 * the fate of each bag. Otherwise resolves with the result of each put, and throws `SOME_FAILED` if one has failed.
 */
export async function putMany(
  bags: readonly unknown[],
  take: (bag: unknown) => TakenBag,
  put: (entity: TakenBag) => Promise<PutResult>,
  fates: boolean,
  onFates: (fates: readonly Fate<PutResult>[]) => void,
): Promise<(Fate<PutResult> | PutResult)[]> {
  const results: Fate<PutResult>[] = []
  const entities: { readonly place: number; readonly taken: TakenBag }[] = []
  // `forEach` would skip the holes of a sparse array.
  for (const [place, bag] of bags.entries()) {
    try {
      entities.push({ place, taken: take(bag) })
    } catch (error) {
      results[place] = failed(error)
    }
  }
  /** The last write of each id that came with a bag. These promises never reject. */
  const lastWrite = new Map<EntityId, Promise<void>>()

  async function putOne(place: number, taken: TakenBag, previous: Promise<void> | undefined): Promise<void> {
    if (previous !== undefined) await previous
    try {
      results[place] = { ok: true, value: await put(taken) }
    } catch (error) {
      results[place] = failed(error)
    }
  }

  // Shared by all loops, so that each entity is put once.
  const queue = entities.values()
  const putNext = async (): Promise<void> => {
    for (const { place, taken } of queue) {
      if (taken.isFresh) {
        await putOne(place, taken, undefined)
        continue
      }
      const id = formatId(taken.id)
      const done = putOne(place, taken, lastWrite.get(id))
      lastWrite.set(id, done)
      await done
    }
  }
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, entities.length) }, putNext))
  onFates(results)
  if (fates) return results
  // A repeated call would make another id for these bags, and write them twice.
  const fresh = new Set(entities.filter(({ taken }) => taken.isFresh).map(({ place }) => place))
  return valuesOf('putMany', results, (place) => !fresh.has(place))
}

function failed(error: unknown): Fate<never> {
  return { ok: false, error: toError(error) }
}
