import { formatId, type EntityId, isError } from '@looseleaf/core'
import type { TakenBag } from '../calls/take-bag.ts'
import type { PutManyResult, PutResult } from '../types.ts'

/** Writes under way at once: enough to fill the lanes of many shards. */
const CONCURRENCY = 512

/**
 * Puts bags at once, those of one id one after the other, and answers with the fate of each. All of them are taken before
 * anything is awaited.
 */
export async function putMany(
  bags: readonly unknown[],
  take: (bag: unknown) => TakenBag,
  put: (entity: TakenBag) => Promise<PutResult>,
): Promise<PutManyResult[]> {
  const results: PutManyResult[] = []
  const entities: { readonly place: number; readonly taken: TakenBag }[] = []
  // Not `forEach`, which would leave out the holes of an array.
  for (const [place, bag] of bags.entries()) {
    try {
      entities.push({ place, taken: take(bag) })
    } catch (error) {
      results[place] = failed(error)
    }
  }
  /** The last write of each id that was given; none of them rejects. */
  const last = new Map<EntityId, Promise<void>>()

  async function putOne(place: number, taken: TakenBag, previous: Promise<void> | undefined): Promise<void> {
    if (previous !== undefined) await previous
    try {
      results[place] = { ok: true, ...(await put(taken)) }
    } catch (error) {
      results[place] = failed(error)
    }
  }

  // They take turns at the same entities.
  const rest = entities.values()
  const putNext = async (): Promise<void> => {
    for (const { place, taken } of rest) {
      if (taken.isFresh) {
        await putOne(place, taken, undefined)
        continue
      }
      const id = formatId(taken.id)
      const done = putOne(place, taken, last.get(id))
      last.set(id, done)
      await done
    }
  }
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, entities.length) }, putNext))
  return results
}

function failed(error: unknown): PutManyResult {
  return { ok: false, error: isError(error) ? error : new Error(String(error)) }
}
