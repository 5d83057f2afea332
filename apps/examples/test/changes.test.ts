import { consume, DataStore, memoryShards, type EntityId } from 'looseleaf'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { copyInto } from '../src/copy-store.ts'
import { TagCounts } from '../src/counters.ts'
import { startSearch } from '../src/search.ts'

let store: DataStore
beforeEach(async () => {
  store = await DataStore.open({ shards: memoryShards(2), migrate: true })
})
afterEach(() => store.close())

const soon = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 10_000, interval: 20 })

test('a search engine in memory finds stored and new entities, and no deleted ones', async () => {
  const { id: first } = await store.put({ title: 'Plain tables', text: 'and nothing else' })
  const ended = new AbortController()
  const search = startSearch(store, ended.signal)
  await soon(() => expect(search.find('tables')).toEqual([first]))
  const { id: second } = await store.put({ title: 'Tables again' })
  await store.put({ title: 'Something else' }, { id: first })
  await soon(() => expect(search.find('tables')).toEqual([second]))
  await store.delete(second)
  await soon(() => expect(search.find('tables')).toEqual([]))
  expect(search.find('else')).toEqual([first])
  ended.abort()
  await search.ended
})

test('a change that arrives several times is counted once', async () => {
  const counts = new TagCounts()
  const ids = await Promise.all(
    Array.from(
      { length: 20 },
      async (_, n) => (await store.put({ tags: n % 2 ? ['odd'] : ['even', 'all'] })).id,
    ),
  )
  let failures = 0
  const consumer = consume(
    store,
    'counts',
    (change, context) => {
      counts.handle(change, context)
      // The change was counted, but the consumer sees an error and retries it.
      if (change.attempt === 1 && ++failures % 3 === 0) throw new Error('The answer was lost.')
    },
    { from: 'beginning', pollMs: 10, retryMs: 10 },
  )
  await soon(() => expect([counts.of('odd'), counts.of('even')]).toEqual([10, 10]))
  await store.put({ tags: ['even'] }, { id: ids[1]! })
  await store.delete(ids[0]!)
  await soon(() => expect(['odd', 'even', 'all'].map((tag) => counts.of(tag))).toEqual([9, 10, 9]))
  expect(failures).toBeGreaterThan(3)
  await consumer.stop()
  counts.close()
})

test('a copy of a store under writes is equal to it at the end', async () => {
  const target = await DataStore.open({ shards: memoryShards(3), migrate: true })
  const ids: EntityId[] = []
  for (let n = 0; n < 30; n++) ids.push((await store.put({ n })).id)
  const options = { from: 'beginning', pollMs: 10, leaseMs: 300 } as const
  const consumer = consume(store, 'copy', copyInto(target), options)
  for (let n = 0; n < 200; n++) {
    const id = ids[(n * 7) % ids.length]!
    if (n % 9 === 0) await store.delete(id)
    else await store.put({ n, text: 'x'.repeat(n) }, { id })
  }
  const contents = async (of: DataStore): Promise<Map<EntityId, unknown>> => {
    const all = await of.getMany(ids)
    return new Map(
      all.flatMap((entity) => {
        const { id, copied: _, isDeleted, ...bag } = entity ?? { id: '', isDeleted: true }
        return isDeleted === true ? [] : [[id as EntityId, bag] as const]
      }),
    )
  }
  const expected = await contents(store)
  expect(expected.size).toBeGreaterThan(10)
  await soon(async () => expect(await contents(target)).toEqual(expected))
  await consumer.stop()
  await target.close()
})
