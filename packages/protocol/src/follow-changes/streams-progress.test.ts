import type { Shard } from '@looseleaf/core'
import type { AwayBuckets } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { expect, test } from 'vitest'
import { streamsProgress } from './streams-progress.ts'

const first: AwayBuckets = { move: 1, attempt: 1, buckets: '0-9', to: 1, end: 5 }
const second: AwayBuckets = { ...first, move: 2, buckets: '10-19', end: 6 }

test.each<[string, AwayBuckets[], boolean]>([
  ['deletes none of its moved rows', [first, second], true],
  ['has begun to delete moved rows', [{ ...first, emptied: 8 }, second], false],
])(
  'a follower has handled all changes on a shard without a changed row only if the shard still keeps its rows: it %s',
  async (_, away, isHandled) => {
    const shard = {
      entities: { pageOfChanges: async () => [] },
      catalog: { load: async () => catalogOf({ serves: { owns: '20-99', away } }) },
    } as unknown as Shard
    const catalog = { latest: () => ({ layout: undefined }) }
    const context = { driver: { shards: [shard] }, catalog } as unknown as EngineContext
    const place = { updated: 1, addedId: 0, since: 1 }
    const progress = streamsProgress(context, () => place, new AbortController().signal)
    // The records were read before the shard could begin to delete.
    expect(await progress.hasHandled(0, 0, [first])).toBe(isHandled)
  },
)
