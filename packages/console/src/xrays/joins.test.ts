import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore, defineIndex, type Trace } from '@looseleaf/store'
import { expect, onTestFinished, test } from 'vitest'
import { joinsOf } from './joins.ts'

const byTopic = defineIndex('joins_by_topic', {
  properties: { topic: 'string' },
  shardOn: 'topic',
  include: ['title'],
})

async function openTopics(): Promise<{ store: DataStore; ids: readonly string[] }> {
  const store = await DataStore.open({ shards: memoryShards(2), indexes: [byTopic], migrate: true })
  onTestFinished(() => store.close())
  const entities = await store.putMany(
    Array.from({ length: 8 }, (_, i) => ({ topic: 'bread', title: `${i}` })),
  )
  return { store, ids: entities.map(({ id }) => id) }
}

const textsOf = (trace: Trace): string[] =>
  joinsOf(trace).map(({ rows, entities }) => {
    expect(rows.shard).not.toBe(entities.shard)
    return `${rows.table} to ${entities.table}`
  })

test('a query joins the index rows of one shard to the entities of the other', async () => {
  const { store } = await openTopics()
  const trace = await store.trace(async (made) => {
    await store.query(byTopic, { topic: 'bread' })
    return made
  })
  expect(textsOf(trace)).toEqual([expect.stringMatching(/joins_by_topic.* to .*entities$/)])
})

test('a read by ids is joined to the rows that were read just before it, and to none if there were none', async () => {
  const { store, ids } = await openTopics()
  const { alone, after } = await store.trace(async (trace) => {
    await store.getMany(ids)
    const first = textsOf(trace)
    // Without looking at the entities.
    await store.list(byTopic, { topic: 'bread' }, { verify: false })
    await store.getMany(ids)
    return { alone: first, after: textsOf(trace) }
  })
  expect(alone).toEqual([])
  expect(after).toEqual([expect.stringMatching(/joins_by_topic.* to .*entities$/)])
})
