import { throwIfAborted, type EntityPageRow } from '@looseleaf/core/internal'
import { shardAt } from '../shards.ts'
import { sizeClass } from '../throttle/throttle.ts'
import type { StoreWork } from './move-work.ts'

const PAGE = 2_000

/** Yields the entities and tombstones of a shard behind a place, without bodies, in the order of `addedId`, as pages. */
export async function* pagesByAdded(
  { context, throttle, signal }: StoreWork,
  number: number,
  after = 0,
): AsyncGenerator<readonly EntityPageRow[], void, undefined> {
  const { entities } = shardAt(context, number)
  const limit = Math.min(PAGE, throttle.maxPage)
  for (let place = after; ;) {
    throwIfAborted(signal)
    const from = place
    const page = await throttle.send(
      number,
      ({ length }) => `pages by added ${sizeClass(length)}`,
      () => entities.pageByAdded(from, limit, { signal, maxBody: 0 }),
      signal,
    )
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    await throttle.take(number, page.length, signal)
    if (page.length < limit) return
    place = last.addedId
  }
}
