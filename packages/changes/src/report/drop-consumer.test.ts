import type { EntityId } from '@looseleaf/core'
import type { FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  editWhenFree,
  partitionNumbers,
  partitionTask,
  readRegistry,
  REGISTRY_TASK,
  type Registry,
} from '@looseleaf/protocol/internal'
import { Hours, type Process } from '../../test/hours.ts'
import { gone, SHARDS } from '../../test/search.ts'
import { dropConsumer } from './manage-consumers.ts'

/* A simulated clock, because the leases of a drop expire after half a minute. */

const SECOND = 1_000
const MINUTE = 60 * SECOND

let hours: Hours
let processA: Process

beforeEach(async () => {
  hours = new Hours()
  processA = await hours.start()
})
afterEach(() => hours.end())

async function codeOf(work: Promise<unknown>): Promise<string> {
  const outcome = work.then(
    () => 'ended',
    (error: unknown) => (error as { code: string }).code,
  )
  await hours.pass(15 * SECOND)
  return outcome
}

const tasksOf = (shard: number) => hours.servers.shards[shard]!.tasks
const shardNumbers = Array.from({ length: SHARDS }, (_, shard) => shard)
const placeNames = partitionNumbers.map((partition) => partitionTask('search', partition))

/** Returns the entities that a consumer with `from: 'beginning'` handles. */
async function handledFromBeginning(): Promise<ReadonlySet<EntityId>> {
  const handled = new Set<EntityId>()
  const consumer = processA.consume(({ id }) => void handled.add(id), { from: 'beginning' })
  await hours.pass(5 * SECOND)
  const stopped = consumer.stop()
  await hours.pass(SECOND)
  await stopped
  return handled
}

/** Leaves the places of a stopped consumer that skipped the stored entities. */
async function leavePlaces(): Promise<void> {
  const consumer = processA.consume(() => {}, { from: 'now' })
  await hours.pass(5 * SECOND)
  const stopped = consumer.stop()
  await hours.pass(SECOND)
  await stopped
}

const putMany = async (count: number): Promise<ReadonlySet<EntityId>> =>
  new Set(
    await Promise.all(Array.from({ length: count }, async (_, n) => (await processA.store.put({ n })).id)),
  )

/** Interrupts a drop at each of its statements in turn. Returns the number of statements. */
async function dropAtEachStatement(spoil: (by: Process) => FaultPlan): Promise<number> {
  const ids = await putMany(40)
  for (let at = 1; ; at++) {
    await leavePlaces()
    const by = await hours.start()
    const spoiled = spoil(by)
    let count = 0
    hours.plan = (call) => (++count === at ? spoiled(call) : undefined)
    void dropConsumer(by.store, 'search').catch(() => {})
    await hours.pass(15 * SECOND)
    const isOver = count < at
    hours.plan = () => undefined
    await hours.pass(31 * SECOND)
    // Either the interrupted drop was complete, or this one completes it.
    expect(['ended', 'NOT_FOUND']).toContain(await codeOf(dropConsumer(processA.store, 'search')))
    expect(await handledFromBeginning()).toEqual(ids)
    expect(await codeOf(dropConsumer(processA.store, 'search'))).toBe('ended')
    if (isOver) return at - 1
  }
}

it.each<[string, (by: Process) => FaultPlan]>([
  ['dies before', (by) => () => ({ before: () => (by.pause(), by.running) })],
  ['dies after', (by) => () => ({ after: () => (by.pause(), by.running) })],
  ['fails at', () => () => gone],
])(
  'a drop that %s any of its statements is completed by another drop, and a new consumer of the name starts over',
  async (_, spoil) => {
    expect(await dropAtEachStatement(spoil)).toBeGreaterThan(10)
  },
)

it('a consumer does not count as unknown while a shard that may know it does not answer', async () => {
  await leavePlaces()
  hours.plan = ({ shard }) => (shard === 1 ? gone : undefined)
  await editWhenFree(processA.store.context, 0, REGISTRY_TASK, () => '', {})
  expect(await codeOf(dropConsumer(processA.store, 'search'))).toBe('SHARD_UNAVAILABLE')
})

it('a drop whose name cannot be deleted on a shard rejects with the error of that shard', async () => {
  await leavePlaces()
  let failures = 0
  hours.plan = ({ shard, operation, args }) =>
    shard === 1 && operation === 'save' && args[0] === REGISTRY_TASK && ++failures === 1 ? gone : undefined
  expect(await codeOf(dropConsumer(processA.store, 'search'))).toBe('SHARD_UNAVAILABLE')
  expect(await codeOf(dropConsumer(processA.store, 'search'))).toBe('ended')
})

it('a drop that was refused rejects only after it has released its leases', async () => {
  await leavePlaces()
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  hours.plan = ({ shard, operation }) => {
    if (operation === 'saveAll') return { before: () => held }
    return shard === 1 && operation === 'claimAll' ? gone : undefined
  }
  let code: string | undefined
  const dropping = codeOf(dropConsumer(processA.store, 'search')).then((found) => (code = found))
  await hours.pass(SECOND)
  expect(code).toBeUndefined()
  release()
  await dropping
  expect(code).toBe('SHARD_UNAVAILABLE')
})

it('a new consumer ignores the places of a dropped one with its name', async () => {
  const ids = await putMany(40)
  await leavePlaces()
  const oldPlaces = await Promise.all(shardNumbers.map((shard) => tasksOf(shard).loadAll(placeNames)))
  expect(await codeOf(dropConsumer(processA.store, 'search'))).toBe('ended')
  for (const shard of shardNumbers) {
    await tasksOf(shard).claimAll(placeNames, 'operator', SECOND)
    const texts = new Map([...oldPlaces[shard]!].map(([name, { progress }]) => [name, progress]))
    expect((await tasksOf(shard).saveAll(texts, 'operator', 0)).size).toBe(placeNames.length)
  }
  expect(await handledFromBeginning()).toEqual(ids)
})

it('a process that took up a consumer during its drop ends', async () => {
  const codes: string[] = []
  const onError = (error: unknown): void => void codes.push((error as { code: string }).code)
  const consumer = processA.consume(() => {}, { from: 'beginning', onError })
  await hours.pass(5 * SECOND)
  expect(consumer.status().shards.map(({ partitions }) => partitions)).toEqual([8, 8])
  for (const shard of shardNumbers)
    await editWhenFree(processA.store.context, shard, REGISTRY_TASK, () => '', {})
  await hours.pass(5 * SECOND)
  expect(consumer.status().isRunning).toBe(false)
  expect(new Set(codes)).toEqual(new Set(['NOT_FOUND']))
})

it('two processes that register one name at the same time, with different `from`, begin at the same place on every shard', async () => {
  const processB = await hours.start()
  let isFirst = true
  // The second process overtakes the first one on shard 1.
  hours.plan = ({ shard, operation }) => {
    if (shard !== 1 || operation !== 'claim' || !isFirst) return undefined
    isFirst = false
    return { before: () => hours.sleep(processA, SECOND, undefined) }
  }
  processA.consume(() => {}, { from: 'beginning' })
  processB.consume(() => {}, { from: 'now' })
  await hours.pass(20 * SECOND)
  expect(isFirst).toBe(false)
  const [first, second]: Registry[] = await Promise.all(
    shardNumbers.map((shard) => readRegistry(processA.store.context, shard, {})),
  )
  expect(first!.size).toBe(1)
  expect(second).toEqual(first)
  for (const { consumers } of [processA, processB])
    expect(consumers[0]!.status().shards.map(({ partitions }) => partitions)).toEqual([4, 4])
})

it('a drop resolves only after it has released its leases', async () => {
  await leavePlaces()
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  hours.plan = ({ operation, args }) =>
    operation === 'saveAll' && args[2] === 0 ? { before: () => held } : undefined
  let isOver = false
  const dropping = dropConsumer(processA.store, 'search').then(() => (isOver = true))
  await hours.pass(SECOND)
  expect(isOver).toBe(false)
  release()
  await hours.pass(SECOND)
  await dropping
  expect(await codeOf(dropConsumer(processA.store, 'search'))).toBe('NOT_FOUND')
})

it('a drop that takes longer than its lease fails if a process has taken up the consumer, and restores the other places', async () => {
  const ids = await putMany(10)
  await leavePlaces()
  const [name] = placeNames
  let isSlow = true
  hours.plan = ({ shard, operation }) => {
    if (shard !== 1 || operation !== 'saveAll' || !isSlow) return undefined
    isSlow = false
    return {
      async before() {
        await hours.sleep(processA, 31 * SECOND, undefined)
        await tasksOf(1).claim(name!, 'another process', MINUTE)
      },
    }
  }
  const failure = dropConsumer(processA.store, 'search').catch((error: unknown) => error)
  await hours.pass(40 * SECOND)
  expect(await failure).toMatchObject({
    code: 'SHARD_BUSY',
    shard: 'reference shard 1',
    message:
      'Dropping the consumer search took longer than its lease on shard reference shard 1, and a process has started it again. Stop that process, and drop the consumer again.',
  })
  await hours.pass(MINUTE)
  const later = await putMany(5)
  const handled = await handledFromBeginning()
  expect([...later].filter((id) => !handled.has(id))).toEqual([])
  expect([...ids].filter((id) => handled.has(id))).toEqual([])
})
