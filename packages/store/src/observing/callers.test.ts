import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

async function failingStore(): Promise<DataStore> {
  let isDown = false
  const driver = await memoryShards(2).connect()
  onTestFinished(() => driver.close())
  const down = (): Promise<never> => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.'))
  const faulty = faultyDriver(driver, ({ table }) =>
    isDown && table !== 'catalog' ? { before: down } : undefined,
  )
  const store = await DataStore.open({ shards: keepOpen(faulty), indexes: [byName], migrate: true })
  onTestFinished(() => store.close())
  isDown = true
  return store
}

const id = '01920000-0000-7000-8000-000000000000'

const calls: Readonly<Record<string, (store: DataStore) => Promise<unknown>>> = {
  put: (store) => store.put({ name: 'ada' }),
  insert: (store) => store.insert({ name: 'ada' }),
  update: (store) => store.update(id, (bag) => bag),
  delete: (store) => store.delete(id),
  batch: (store) => store.batch([{ put: { name: 'ada' } }]),
  get: (store) => store.get(id),
  getMany: (store) => store.getMany([id]),
  exists: (store) => store.exists(id),
  query: (store) => store.query(byName, { name: 'ada' }),
  count: (store) => store.count(byName, { name: 'ada' }),
}

async function firstPage(store: DataStore, name: string): Promise<unknown> {
  return await calls[name]!(store)
}

async function secondPage(store: DataStore, name: string): Promise<unknown> {
  return await calls[name]!(store)
}

test.each(Object.keys(calls))(
  'errors of concurrent calls of %s lead to the lines that have awaited them',
  async (name) => {
    const store = await failingStore()
    const ended = await Promise.allSettled([firstPage(store, name), secondPage(store, name)])
    const stacks = ended.map((each) => String((each as PromiseRejectedResult).reason.stack))
    expect(stacks).toEqual([
      expect.stringMatching(/Away\.\n[^]*at (async )?firstPage /),
      expect.stringMatching(/Away\.\n[^]*at (async )?secondPage /),
    ])
    expect(stacks[0]).not.toContain('secondPage')
    expect(stacks[1]).not.toContain('firstPage')
  },
)
