import { throwIfAborted, type EntityPageRow } from '@looseleaf/core'
import { shardAt } from './index-target.ts'
import { createPageSize } from './page-size.ts'
import type { Pass } from './pass.ts'

/** The entities of a shard, tombstones too, in the order of writing, as pages within the pass's limits. */
export async function* entityPages(
  pass: Pass,
  shard: number,
  after = 0,
): AsyncGenerator<readonly EntityPageRow[], void, undefined> {
  const { entities } = shardAt(pass.context, shard)
  const size = createPageSize(pass.maxPage)
  for (;;) {
    throwIfAborted(pass.signal)
    const { limit } = size
    const page = await entities.pageByAdded(after, limit, { signal: pass.signal })
    const last = page.at(-1)
    if (last === undefined) return
    size.saw(page)
    yield page
    await pass.throttle.take(page.length, pass.signal)
    if (page.length < limit) return
    after = last.addedId
  }
}
