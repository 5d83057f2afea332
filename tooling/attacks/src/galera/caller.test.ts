import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { checkCounters, createCaller, type Caller } from './caller.ts'
import { byGroup } from '@looseleaf-tooling/simulation/by-tag-and-group'
import { allIndexes } from './site.ts'
import { createTally, type Tally } from './tally.ts'

// The run proves something only if its callers notice violations.

let store: DataStore
let tally: Tally
let caller: Caller
let counter: string

beforeEach(async () => {
  const opened = await DataStore.open({ shards: memoryShards(2), indexes: allIndexes, migrate: true })
  onTestFinished(() => opened.close())
  store = opened
  tally = createTally()
  counter = (await store.put({})).id
  caller = createCaller('ada', [counter], () => store.newId(), tally, 0)
  for (let step = 0; step < 100; step++) await caller.step(store)
})

const check = (): Promise<void> => checkCounters(store, [counter], new Map([['ada', caller]]), tally)

test('callers report nothing about a correct store', async () => {
  await caller.look(store)
  await check()
  expect(tally.acknowledged).toBe(100)
  expect(tally.wrongs).toEqual([])
  expect(tally.staleLooks).toBe(0)
})

test('callers notice a missing acknowledged write, by id and through the indexes', async () => {
  const [entity] = await byGroup.getAll(store, { group: 'ada 1' })
  await store.delete(entity?.id ?? '')
  await caller.look(store)
  expect(tally.wrongs.join()).toMatch(/write none is there.*the key ada 1 finds/)
})

test('callers notice an entity that no caller has written', async () => {
  const [entity] = await byGroup.getAll(store, { group: 'ada 1' })
  await store.update(entity?.id ?? '', (bag) => ({ ...bag, write: 1_000 }))
  await caller.look(store)
  expect(tally.wrongs.join()).toMatch(/write 1000 is there/)
})

test('callers notice a lost update of a counter, and an update that was made twice', async () => {
  const [[least] = [0, 0]] = caller.counted()
  await store.update(counter, (bag) => ({ ...bag, ada: least - 1 }))
  await check()
  await store.update(counter, (bag) => ({ ...bag, ada: least + 1 }))
  await check()
  expect(tally.wrongs).toHaveLength(2)
})
