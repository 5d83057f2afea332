import type { EngineContext } from '@looseleaf/index-engine/internal'
import { partitionNumbers, partitionTask, placeAt } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Search } from '../../test/search.ts'
import { waitingTask } from '../records/names.ts'
import { createPartitionLeases, type PartitionLeases } from './partition-leases.ts'

/* The shares of several processes in the partitions of a shard. */

const LEASE_MS = 60_000

let search: Search
let store: DataStore
let claims: number

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  claims = 0
  search.plan = ({ operation }) => void (operation === 'claimAll' && claims++)
})
afterEach(() => search.end(store))

/** Creates the leases of a process whose owners begin with this text. */
function createLeases(name: string): PartitionLeases {
  let owners = 0
  const random = { ...store.context.random, uuid: () => `${name}-${++owners}` }
  const context: EngineContext = { ...store.context, random }
  return createPartitionLeases(context, 0, {
    consumer: 'search',
    leaseMs: LEASE_MS,
    incarnation: () => '',
    beginning: async () => ({ ...placeAt(0), since: 0 }),
    onError: (error) => expect.unreachable(String(error)),
  })
}

async function refresh(...some: readonly PartitionLeases[]): Promise<void> {
  for (const each of some) await each.refresh(new Set(), {})
}

const counts = (...some: readonly PartitionLeases[]): number[] => some.map(({ held }) => held.length)
const taskOf = (number: number): string => partitionTask('search', number)
const waiter = async (): Promise<string | undefined> =>
  (await search.memory.shards[0]!.tasks.load(waitingTask('search')))?.owner

/** Another process takes these partitions. */
const take = (numbers: readonly number[]): Promise<unknown> =>
  search.memory.shards[0]!.tasks.claimAll(numbers.map(taskOf), 'operator', LEASE_MS)

test('a process with a fair share leaves free partitions to others, and does not wait for more', async () => {
  await take([0])
  const leases = createLeases('a')
  await refresh(leases, leases)
  expect([counts(leases), claims]).toEqual([[4], 1])
  await take(partitionNumbers)
  await refresh(leases)
  expect([counts(leases), claims, await waiter()]).toEqual([[4], 1, undefined])
})

test('a process with less than a fair share waits for more once none is free', async () => {
  await take(partitionNumbers.slice(1))
  const leases = createLeases('a')
  await refresh(leases)
  expect([counts(leases), await waiter()]).toEqual([[1], undefined])
  await refresh(leases)
  expect([counts(leases), claims, await waiter()]).toEqual([[1], 1, 'a-1'])
})

test('the process whose owner comes first releases partitions if two have the most', async () => {
  const [first, second, third] = [createLeases('a'), createLeases('b'), createLeases('c')]
  await refresh(second, first, second, first)
  expect(counts(first, second)).toEqual([4, 4])
  await refresh(first, second, third)
  expect(await waiter()).toBe('c-1')
  await refresh(second)
  expect(counts(first, second)).toEqual([4, 4])
  await refresh(first, third)
  expect(counts(first, second, third)).toEqual([2, 4, 2])
})

test('a process releases half of its surplus over the one that waits, and none while a partition is free', async () => {
  const [rich, poor] = [createLeases('a'), createLeases('b')]
  await refresh(rich, poor)
  const busy = new Set(partitionNumbers.slice(2))
  await rich.refresh(busy, {})
  expect(counts(rich)).toEqual([6])
  await refresh(rich)
  expect(counts(rich)).toEqual([6])
  await refresh(poor, poor)
  expect([counts(rich, poor), await waiter()]).toEqual([[6, 2], 'b-1'])
  await refresh(rich, poor)
  expect(counts(rich, poor)).toEqual([4, 4])
})
