import { formatId, isError, valuesOf, type EntityId, type Fate } from '@looseleaf/core'
import type { TakenBag } from '../calls/take-bag.ts'
import type { PutResult } from '../types.ts'

/** Writes under way at once: enough to fill the lanes of many shards. */
const CONCURRENCY = 512

/**
 * Puts bags at once, those of one id one after the other. Takes all of them before it awaits anything. Resolves with the fate of each,
 * or without `fates` with what each put answered; then throws `SOME_FAILED` when one has failed.
 */
export async function putMany(
  bags: readonly unknown[],
  take: (bag: unknown) => TakenBag,
  put: (entity: TakenBag) => Promise<PutResult>,
  fates: boolean,
): Promise<(Fate<PutResult> | PutResult)[]> {
  const results: Fate<PutResult>[] = []
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
      results[place] = { ok: true, value: await put(taken) }
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
  if (fates) return results
  // A fresh id would be another one the next time.
  const fresh = new Set(entities.filter(({ taken }) => taken.isFresh).map(({ place }) => place))
  return valuesOf('putMany', results, (place) => !fresh.has(place))
}

function failed(error: unknown): Fate<never> {
  return { ok: false, error: isError(error) ? error : new Error(String(error)) }
}
