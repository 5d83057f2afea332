import type { EntityId } from '@looseleaf/core'
import type { FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { partitionNumbers, partitionTask, REGISTRY_TASK } from '@looseleaf/protocol'
import { Hours, type Process } from '../../test/hours.ts'
import { gone, SHARDS } from '../../test/search.ts'
import { editTask } from '../records/edit-task.ts'
import { readRegistry, type Registry } from '../records/registry.ts'
import { dropConsumer } from './manage-consumers.ts'

/* Its leases are over after half a minute, by a clock of its own. */

const SECOND = 1_000

let hours: Hours
let one: Process

beforeEach(async () => {
  hours = new Hours()
  one = await hours.start()
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

/** What a consumer of the name handles that is told to begin with every entity. */
async function handledAnew(): Promise<ReadonlySet<EntityId>> {
  const handled = new Set<EntityId>()
  const consumer = one.consume(({ id }) => void handled.add(id), { from: 'beginning' })
  await hours.pass(5 * SECOND)
  const stopped = consumer.stop()
  await hours.pass(SECOND)
  await stopped
  return handled
}

/** Of a consumer that has left out what was there. */
async function leavePlaces(): Promise<void> {
  const consumer = one.consume(() => {}, { from: 'now' })
  await hours.pass(5 * SECOND)
  const stopped = consumer.stop()
  await hours.pass(SECOND)
  await stopped
}

const putMany = async (count: number): Promise<ReadonlySet<EntityId>> =>
  new Set(await Promise.all(Array.from({ length: count }, async (_, n) => (await one.store.put({ n })).id)))

/** At each of its statements in turn, before or after it. Answers how often it did not end. */
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
    // Either it has ended, or it ends now.
    expect(['ended', 'NOT_FOUND']).toContain(await codeOf(dropConsumer(one.store, 'search')))
    expect(await handledAnew()).toEqual(ids)
    expect(await codeOf(dropConsumer(one.store, 'search'))).toBe('ended')
    if (isOver) return at - 1
  }
}

it.each<[string, (by: Process) => FaultPlan]>([
  ['dies before', (by) => () => ({ before: () => (by.pause(), by.running) })],
  ['dies after', (by) => () => ({ after: () => (by.pause(), by.running) })],
  ['fails at', () => () => gone],
])(
  'a drop that %s any of its statements is ended by another, and one of its name begins anew',
  async (_, spoil) => {
    expect(await dropAtEachStatement(spoil)).toBeGreaterThan(10)
  },
)

it('is known for as long as a shard may know it that does not answer', async () => {
  await leavePlaces()
  hours.plan = ({ shard }) => (shard === 1 ? gone : undefined)
  await editTask(one.store.context, 0, REGISTRY_TASK, () => '', {})
  expect(await codeOf(dropConsumer(one.store, 'search'))).toBe('SHARD_UNAVAILABLE')
})

it('places that a dropped one has left are not those of another one of its name', async () => {
  const ids = await putMany(40)
  await leavePlaces()
  const left = await Promise.all(shardNumbers.map((shard) => tasksOf(shard).loadAll(placeNames)))
  expect(await codeOf(dropConsumer(one.store, 'search'))).toBe('ended')
  for (const shard of shardNumbers) {
    await tasksOf(shard).claimAll(placeNames, 'operator', SECOND)
    const texts = new Map([...left[shard]!].map(([name, { progress }]) => [name, progress]))
    expect((await tasksOf(shard).saveAll(texts, 'operator', 0)).size).toBe(placeNames.length)
  }
  expect(await handledAnew()).toEqual(ids)
})

it('a process that has taken it up while it was being dropped leaves it', async () => {
  const codes: string[] = []
  const onError = (error: unknown): void => void codes.push((error as { code: string }).code)
  const consumer = one.consume(() => {}, { from: 'beginning', onError })
  await hours.pass(5 * SECOND)
  expect(consumer.status().shards.map(({ partitions }) => partitions)).toEqual([8, 8])
  for (const shard of shardNumbers) await editTask(one.store.context, shard, REGISTRY_TASK, () => '', {})
  await hours.pass(5 * SECOND)
  expect(consumer.status().isRunning).toBe(false)
  expect(new Set(codes)).toEqual(new Set(['NOT_FOUND']))
})

it('two that make one name known at the same time, with other beginnings, begin at one of them on every shard', async () => {
  const two = await hours.start()
  let isFirst = true
  // The second one overtakes the first on one shard.
  hours.plan = ({ shard, operation }) => {
    if (shard !== 1 || operation !== 'claim' || !isFirst) return undefined
    isFirst = false
    return { before: () => hours.sleep(one, SECOND, undefined) }
  }
  one.consume(() => {}, { from: 'beginning' })
  two.consume(() => {}, { from: 'now' })
  await hours.pass(20 * SECOND)
  expect(isFirst).toBe(false)
  const [first, second]: Registry[] = await Promise.all(
    shardNumbers.map((shard) => readRegistry(one.store.context, shard, {})),
  )
  expect(first!.size).toBe(1)
  expect(second).toEqual(first)
  for (const { consumers } of [one, two])
    expect(consumers[0]!.status().shards.map(({ partitions }) => partitions)).toEqual([4, 4])
})
