import { parseId, type EntityId } from '@looseleaf/core'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { keepOpen, type FaultyCall } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gone, Search, until } from '../../test/search.ts'
import type { Consumer } from './consume.ts'
import { createPassedChanges } from './passed-changes.ts'

const PLAN = { from: 0, to: 1, buckets: '0-1023' }

let search: Search
let store: DataStore
let mover: DataStore
let id: EntityId
let consumer: Consumer
let isDown: boolean
let handled: number
let errors: unknown[]

/** Starts a consumer with a failing change of an entity whose bucket will move. */
beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  mover = await DataStore.open({ shards: keepOpen(search.memory), time: leapingTime() })
  const isIn = entitiesIn(store.context, PLAN.buckets)
  do id = store.newId()
  while (!isIn(parseId(id)))
  await store.put({ n: 1 }, { id })
  isDown = true
  handled = 0
  errors = []
  const handle = (): void => {
    if (isDown) throw new Error('The search engine is down.')
    handled++
  }
  const onError = (error: unknown): void => void errors.push(error)
  consumer = search.start(store, handle, { leaseMs: 300, maxAttempts: 100_000, onError })
  await until(() => consumer.status().shards[0]?.failing === 1)
})
afterEach(async () => {
  await mover.close()
  await search.end(store)
})

/** Whether a call writes the changes that another shard has passed on to this one. */
const savesMoved = ({ shard, operation, args }: FaultyCall): boolean =>
  shard === 1 && operation === 'save' && JSON.stringify(args[0]).includes('/moved')

test('a failing change that was passed on is handled once, although its letter could not be removed at first', async () => {
  let saves = 0
  // The first one writes the letter.
  search.plan = (call) => (savesMoved(call) && ++saves === 2 ? gone : undefined)
  await mover.shards.move(PLAN)
  await until(() => saves > 2)
  expect(errors).toContainEqual(expect.objectContaining({ code: 'SHARD_UNAVAILABLE' }))
  isDown = false
  await until(() => handled > 0)
  await until(() => consumer.status().shards.every(({ failing }) => failing === 0))
  expect(handled).toBe(1)
})

test('a failing change is not passed on while its partition cannot be saved', async () => {
  let looks = 0
  let passed = 0
  const watchCalls = (call: FaultyCall): undefined => {
    if (call.shard === 0 && call.table === 'tasks' && call.operation === 'loadAll') looks++
    if (savesMoved(call)) passed++
  }
  search.plan = (call) => {
    watchCalls(call)
    return call.shard === 0 && call.operation === 'saveAll' ? gone : undefined
  }
  await mover.shards.move(PLAN)
  const before = looks
  await until(() => looks >= before + 10)
  expect(passed).toBe(0)
  search.plan = watchCalls
  isDown = false
  await until(() => handled > 0)
  expect(passed).toBeGreaterThan(0)
})

test('a process that has slept looks at the buckets of its shard before it passes a failing change on', async () => {
  let isAway = true
  const moved = { isOver: () => isAway, learn: async () => void (isAway = false) }
  const leases = { save: () => expect.unreachable('The bucket has come back.') }
  const passing = createPassedChanges(store.context, { shard: 0, consumer: 'search', moved, leases })
  const failing = new Map([[id, { id, version: 1, attempts: 1, error: '', failedAt: 1 }]])
  await passing.passOn(
    [{ number: 0, place: { updated: 9, addedId: 0 }, since: 0, failing, isHeld: true }],
    {},
  )
  expect(failing.size).toBe(1)
})
