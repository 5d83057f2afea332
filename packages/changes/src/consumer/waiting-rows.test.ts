import { parseId } from '@looseleaf/core'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gone, Search, until } from '../../test/search.ts'

const PLAN = { from: 0, to: 1, buckets: '0-1023' }

let search: Search
let store: DataStore
let mover: DataStore

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  mover = await DataStore.open({ shards: keepOpen(search.memory), time: leapingTime() })
})
afterEach(async () => {
  await mover.close()
  await search.end(store)
})

test('a change of an entity that has moved waits while its former shard cannot be asked for earlier ones', async () => {
  const isIn = entitiesIn(store.context, PLAN.buckets)
  let id = store.newId()
  while (!isIn(parseId(id))) id = store.newId()
  const { version } = await store.put({ n: 1 }, { id })
  const handled: number[] = []
  search.start(store, (change) => void handled.push(change.version), { onError: () => {} })
  await until(() => handled.length === 1)
  let pages = 0
  search.plan = ({ shard, table, operation }) => {
    if (shard === 1 && operation === 'pageOfChanges') pages++
    return shard === 0 && table === 'catalog' && operation === 'load' ? gone : undefined
  }
  await mover.shards.move(PLAN)
  const { version: later } = await mover.put({ n: 2 }, { id })
  const before = pages
  await until(() => pages >= before + 3)
  expect(handled).toEqual([version])
  search.plan = () => undefined
  await until(() => handled.length > 1)
  expect(handled).toEqual([version, later])
})
