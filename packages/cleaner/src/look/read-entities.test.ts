import { randomBytes } from 'node:crypto'
import { formatId, parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPass } from '../pass/pass.ts'
import { eachEntity } from './read-entities.ts'

const PLAN = { from: 0, to: 1, buckets: '7' }

let memory: Driver
let store: DataStore
let mover: DataStore
let plan: FaultPlan
let ids: EntityId[]
let visited: (readonly [id: EntityId, shard: string])[]

/** Puts entities of a bucket that is about to move. The last one has a body that is too long for a page. */
beforeEach(async () => {
  memory = await memoryShards(2).connect()
  plan = () => undefined
  visited = []
  store = await DataStore.open({
    shards: keepOpen(faultyDriver(memory, (call) => plan(call))),
    migrate: true,
  })
  mover = await DataStore.open({ shards: keepOpen(memory), time: leapingTime() })
  const isIn = entitiesIn(store.context, PLAN.buckets)
  let first = store.newId()
  while (!isIn(parseId(first))) first = store.newId()
  ids = [first, store.newId({ near: first }), store.newId({ near: first })]
  for (const [n, id] of ids.entries())
    await store.put({ n, ...(n === 2 && { long: randomBytes(3_000_000).toString('base64') }) }, { id })
  const stopped = new AbortController()
  const announcing = mover.shards.move(PLAN, {
    signal: stopped.signal,
    onProgress: ({ step }) => {
      if (step === 'copying') stopped.abort()
    },
  })
  await announcing.catch(() => {})
  await store.context.catalog.reload()
})
afterEach(async () => {
  await mover.close()
  await store.close()
  await memory.close()
})

/** Reads the entities, and an id without one. */
const visitAll = (): Promise<void> =>
  eachEntity(
    createPass(store.context),
    [...ids, store.newId({ near: ids[0]! })].map(parseId),
    async (row, shard) => void visited.push([formatId(row.id), shard]),
  )

/** Ends the move before or after the first call of this operation on its source. */
function moveAt(operation: string, when: 'before' | 'after'): void {
  let isFirst = true
  plan = (call) => {
    if (call.shard !== 0 || call.table !== 'entities' || call.operation !== operation || !isFirst)
      return undefined
    isFirst = false
    return { [when]: async () => void (await mover.shards.move(PLAN)) }
  }
}

test('rows are read at the source while its buckets are only copied', async () => {
  await visitAll()
  expect(visited.toSorted()).toEqual(ids.map((id) => [id, 'memory 0']).toSorted())
})

test.each(['before', 'after'] as const)(
  'rows of entities that leave a shard %s their statement are read at their new owner',
  async (when) => {
    moveAt('readBounded', when)
    await visitAll()
    expect(visited.toSorted()).toEqual(ids.map((id) => [id, 'memory 1']).toSorted())
  },
)

test.each(['before', 'after'] as const)(
  'a long body of an entity that leaves a shard %s it is read comes from the new owner, and no entity comes twice',
  async (when) => {
    moveAt('read', when)
    await visitAll()
    expect(visited.map(([id]) => id).toSorted()).toEqual(ids.toSorted())
    expect(visited.find(([id]) => id === ids[2])?.[1]).toBe('memory 1')
  },
)
