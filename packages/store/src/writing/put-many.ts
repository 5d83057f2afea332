import { formatId, type EntityId } from '@looseleaf/core'
import pLimit from 'p-limit'
import type { TakenBag } from '../calls/take-bag.ts'
import type { PutManyResult, PutResult } from '../types.ts'

/** Writes under way at once: enough to fill the lanes of many shards. */
const CONCURRENCY = 512

/**
 * Puts bags at once, those of one id one after the other, and answers with the fate of each. All of them are taken before
 * anything is awaited.
 */
export function putMany(
  bags: readonly unknown[],
  take: (bag: unknown) => TakenBag,
  put: (entity: TakenBag) => Promise<PutResult>,
): Promise<PutManyResult[]> {
  const last = new Map<EntityId, Promise<PutManyResult>>()

  async function putAfter(previous: Promise<unknown> | undefined, entity: TakenBag): Promise<PutManyResult> {
    try {
      await previous
      return { ok: true, ...(await put(entity)) }
    } catch (error) {
      return failed(error)
    }
  }

  function putInOrder(entity: TakenBag): Promise<PutManyResult> {
    const id = formatId(entity.id)
    const result = putAfter(last.get(id), entity)
    if (!entity.isFresh) last.set(id, result)
    return result
  }

  const puts = Array.from(bags, (bag): (() => Promise<PutManyResult>) => {
    try {
      const entity = take(bag)
      return () => putInOrder(entity)
    } catch (error) {
      return async () => failed(error)
    }
  })
  return pLimit(CONCURRENCY).map(puts, (start) => start())
}

function failed(error: unknown): PutManyResult {
  return { ok: false, error: error instanceof Error ? error : new Error(String(error)) }
}
