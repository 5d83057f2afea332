import { parseId, type EntityId } from '@looseleaf/core'
import { entitiesIn, PARTITIONS } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { keepOpen, type FaultyCall } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gone, Search, until } from '../../test/search.ts'
import type { ChangedEntity } from './changed-entity.ts'
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
let handledIds: Set<string>
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
  handledIds = new Set()
  errors = []
  const handle = (change: ChangedEntity): void => {
    if (isDown && change.id === id) throw new Error('The search engine is down.')
    handled++
    handledIds.add(change.id)
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
  search.plan = (call) => {
    // The first one writes the letter.
    if (!savesMoved(call) || ++saves !== 2) return undefined
    const [name, owner] = call.args as [string, string]
    return {
      async before() {
        // Ends the lease of the list, so that the next removal need not wait until it expires.
        const { tasks } = search.memory.shards[1]!
        await tasks.save(name, owner, (await tasks.load(name))!.progress, 0)
        gone.before!()
      },
    }
  }
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
  await until(() => looks >= before + 4)
  expect(passed).toBe(0)
  search.plan = watchCalls
  await until(() => passed > 0)
  isDown = false
  await until(() => handled > 0)
  expect(handled).toBe(1)
})

test('an owner that does not answer holds up only the partition that has a change to pass on', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  let isHung = false
  search.plan = (call) => {
    isHung ||= savesMoved(call)
    return isHung && call.shard === 1 ? { before: () => answered } : undefined
  }
  await mover.shards.move(PLAN)
  await until(() => isHung)
  const partitionOf = async (ids: readonly EntityId[]): Promise<readonly number[]> =>
    (await search.memory.shards[0]!.entities.checksums(ids.map(parseId))).map(
      (row) => row!.addedId % PARTITIONS,
    )
  const isMoved = entitiesIn(store.context, PLAN.buckets)
  const ids = Array.from({ length: 80 }, () => idOn(mover, 0)).filter((other) => !isMoved(parseId(other)))
  for (const other of ids) await mover.put({ n: 2 }, { id: other })
  const [held] = await partitionOf([id])
  const partitions = await partitionOf(ids)
  const others = ids.filter((_, i) => partitions[i] !== held)
  await until(() => others.every((other) => handledIds.has(other)))
  expect(ids.filter((other) => handledIds.has(other))).toEqual(others)
  isDown = false
  answer()
  await until(() => ids.every((other) => handledIds.has(other)))
  await until(() => handledIds.has(id))
})

test('a process that has slept looks at the buckets of its shard before it passes a failing change on', async () => {
  let isAway = true
  let looks = 0
  const learn = async (): Promise<void> => {
    looks++
    isAway = false
  }
  const moved = { isOver: () => isAway, learn }
  const leases = { save: async () => {} }
  const passing = createPassedChanges(store.context, { shard: 0, consumer: 'search', moved, leases })
  const failing = new Map([[id, { id, version: 1, attempts: 1, error: '', failedAt: 1 }]])
  const partition = { number: 0, place: { updated: 9, addedId: 0 }, since: 0, failing, isHeld: true }
  expect(await passing.due([partition], {})).toEqual([])
  expect(looks).toBe(1)
  // Once no change seems due, a process looks no more.
  expect(await passing.due([partition], {})).toEqual([])
  expect(looks).toBe(1)
})
