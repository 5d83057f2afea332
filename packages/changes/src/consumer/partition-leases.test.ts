import type { DataStore } from '@looseleaf/store'
import { unknownOutcome, type Fault } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gone, Search } from '../../test/search.ts'
import {
  partitionNumbers,
  partitionTask,
  readProgress,
  type ConsumerProgress,
  type FollowedPlace,
} from '@looseleaf/protocol/internal'
import { waitingTask } from '../records/names.ts'
import { recordFromText, type Failing } from '../records/partition-record.ts'
import { createPartitionLeases, type PartitionLeases } from './partition-leases.ts'

const LEASE_MS = 60_000

let search: Search
let store: DataStore
let leases: PartitionLeases
let beginning: () => Promise<FollowedPlace>

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  beginning = () => Promise.resolve({ updated: 0, addedId: 0, since: 0 })
  leases = createLeases()
  await leases.refresh(new Set(), {})
})
afterEach(() => search.end(store))

function createLeases(context = store.context): PartitionLeases {
  return createPartitionLeases(context, 0, {
    consumer: 'search',
    leaseMs: LEASE_MS,
    incarnation: () => '',
    beginning: () => beginning(),
    onError: (error) => expect.unreachable(String(error)),
  })
}

const taskOf = (number: number): string => partitionTask('search', number)

function fail(number: number): Failing {
  const id = store.newId()
  const failing = { id, version: 1, attempts: 1, error: 'The handler fails.', failedAt: 1 }
  leases.held.find((partition) => partition.number === number)!.failing.set(id, failing)
  return failing
}

async function savedFailing(number: number): Promise<readonly Failing[]> {
  const state = await search.memory.shards[0]!.tasks.load(taskOf(number))
  return recordFromText(state!.progress)!.failing
}

test('a save that is slow does not overwrite one that was made later', async () => {
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let saves = 0
  const slow: Fault = {
    before() {
      begun.resolve()
      return held.promise
    },
  }
  search.plan = ({ operation }) => (operation === 'saveAll' && ++saves === 1 ? slow : undefined)
  const first = leases.save()
  await begun.promise
  const change = fail(3)
  const later = [leases.save(), leases.save()]
  // Time for the later ones to overtake the first.
  await search.memory.shards[0]!.tasks.load('any')
  held.resolve()
  await Promise.all([first, ...later])
  expect(await savedFailing(3)).toEqual([change])
  // Both later ones share a statement.
  expect(saves).toBe(2)
})

/** Lets the first `count` writes of records have no answer. Returns what they were called with. */
function loseAnswers(count: number): readonly (readonly unknown[])[] {
  const lost: (readonly unknown[])[] = []
  search.plan = ({ operation, args }) =>
    operation === 'saveAll' && lost.length < count
      ? {
          before() {
            lost.push(args)
            throw unknownOutcome()
          },
        }
      : undefined
  return lost
}

/** Lets a write whose answer was lost take place. Returns the records that it changes. */
function takePlace(args: readonly unknown[] | undefined): Promise<ReadonlySet<string>> {
  const { tasks } = search.memory.shards[0]!
  return (tasks.saveAll as (...args: readonly unknown[]) => Promise<ReadonlySet<string>>)(...args!)
}

test('a save without an answer that takes place late does not overwrite one that was made later', async () => {
  const lost = loseAnswers(1)
  await expect(leases.save()).rejects.toMatchObject({ unknownOutcome: true })
  const change = fail(3)
  await leases.save()
  expect(await takePlace(lost[0])).toEqual(new Set())
  expect(await savedFailing(3)).toEqual([change])
})

test('a save of an ended lease that takes place once more does not overwrite the record of the next lease', async () => {
  const { tasks } = search.memory.shards[0]!
  const saves: (readonly unknown[])[] = []
  search.plan = ({ operation, args }) => {
    if (operation === 'saveAll') saves.push(args)
    return undefined
  }
  await leases.save()
  const others = createLeases()
  // The process has slept past its lease, and another one has had the partitions since.
  await tasks.saveAll(
    new Map(partitionNumbers.map((number) => [taskOf(number), ''])),
    saves[0]![1] as string,
    0,
  )
  await others.refresh(new Set(), {})
  others.held.find(({ number }) => number === 3)!.place = { updated: 7, addedId: 0 }
  await others.release()
  await leases.save()
  expect(leases.held).toEqual([])
  await leases.refresh(new Set(), {})
  expect(leases.held).toHaveLength(8)
  expect(await takePlace(saves[0])).toEqual(new Set())
  const { progress } = (await tasks.load(taskOf(3)))!
  expect(recordFromText(progress)!.place).toEqual({ updated: 7, addedId: 0 })
})

test('a save without an answer leaves its partitions to no other process, because their handlers may be running', async () => {
  const others = createLeases()
  loseAnswers(1)
  await expect(leases.save()).rejects.toMatchObject({ unknownOutcome: true })
  await others.refresh(new Set(), {})
  await leases.save()
  await others.refresh(new Set(), {})
  expect(others.held).toEqual([])
  expect(leases.held.map(({ isHeld }) => isHeld)).toEqual(Array(8).fill(true))
})

test('a process that waits for more partitions goes on waiting after a save without an answer', async () => {
  const { tasks } = search.memory.shards[0]!
  await leases.release()
  await tasks.claimAll(partitionNumbers.slice(2).map(taskOf), 'operator', 60_000)
  await leases.refresh(new Set(), {})
  expect(leases.held).toHaveLength(2)
  await leases.refresh(new Set(), {})
  loseAnswers(1)
  await expect(leases.save()).rejects.toMatchObject({ unknownOutcome: true })
  await leases.save()
  const states = await tasks.loadAll([taskOf(0), waitingTask('search')])
  const [partition, waiting] = [...states.values()].map(({ owner }) => owner)
  expect(partition).toBeDefined()
  expect(waiting).toBe(partition)
  await leases.release()
  expect((await tasks.load(waitingTask('search')))!.owner).toBeUndefined()
})

test('two saves in a row without an answer give the partitions up', async () => {
  loseAnswers(2)
  const [, second] = leases.held
  await expect(leases.save()).rejects.toMatchObject({ unknownOutcome: true })
  await expect(leases.save()).rejects.toMatchObject({ unknownOutcome: true })
  expect(second!.isHeld).toBe(false)
  expect(leases.held).toEqual([])
  // Either of the two may have renewed the leases.
  await leases.refresh(new Set(), {})
  expect(leases.held).toEqual([])
})

test('a release without an answer gives its partitions up', async () => {
  loseAnswers(1)
  await expect(leases.release()).rejects.toMatchObject({ unknownOutcome: true })
  expect(leases.held).toEqual([])
})

/** Gives all partitions up, and deletes their records. */
async function releaseWithoutRecords(): Promise<void> {
  const { tasks } = search.memory.shards[0]!
  await leases.release()
  await tasks.claimAll(partitionNumbers.map(taskOf), 'operator', 60_000)
  await tasks.saveAll(new Map(partitionNumbers.map((number) => [taskOf(number), ''])), 'operator', 0)
}

/** Lets the beginning of the next claim fail. The call before it finds out whether the consumer was dropped. */
function refuseBeginning(): void {
  const known = beginning
  beginning = () => {
    beginning = () => {
      beginning = known
      return Promise.reject(new Error('not now'))
    }
    return known()
  }
}

test('partitions that are given back without an answer are claimed again only when that cannot take place any more', async () => {
  await releaseWithoutRecords()
  const lost = loseAnswers(1)
  refuseBeginning()
  await expect(leases.refresh(new Set(), {})).rejects.toThrow()
  expect(lost).toHaveLength(1)
  await leases.refresh(new Set(), {})
  expect(leases.held).toEqual([])
  expect((await takePlace(lost[0])).size).toBe(8)
  await leases.refresh(new Set(), {})
  expect(leases.held).toHaveLength(8)
})

test('partitions that are given back stay with a process that has claimed them again, although that takes place once more', async () => {
  await releaseWithoutRecords()
  const given: (readonly unknown[])[] = []
  search.plan = ({ operation, args }) => {
    if (operation === 'saveAll' && args[2] === 0) given.push(args)
    return undefined
  }
  refuseBeginning()
  await expect(leases.refresh(new Set(), {})).rejects.toThrow('not now')
  await leases.refresh(new Set(), {})
  expect(leases.held).toHaveLength(8)
  expect(given).toHaveLength(1)
  expect(await takePlace(given[0])).toEqual(new Set())
})

test('a save that was refused keeps the partitions', async () => {
  search.plan = ({ operation }) => (operation === 'saveAll' ? gone : undefined)
  await expect(leases.save()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect(leases.held.every(({ isHeld }) => isHeld)).toBe(true)
  expect(leases.held).toHaveLength(8)
})

test('a process that takes a partition over has its failing changes', async () => {
  const change = fail(3)
  await leases.save()
  await leases.release()
  const next = createLeases()
  await next.refresh(new Set(), {})
  expect(next.held.find(({ number }) => number === 3)!.failing).toEqual(new Map([[change.id, change]]))
})

test('a failing change of a registered consumer counts on the shard of its partition', async () => {
  const consumers = new Map([['search', { incarnation: '', at: 1, begun: [], floors: [] }]])
  const failing = async (): Promise<unknown> =>
    (await readProgress(store.context, 0, consumers, {})).get('search')!.failing
  expect(await failing()).toEqual([])
  const { id } = fail(3)
  await leases.save()
  expect(await failing()).toEqual([{ id, passedBehind: 0 }])
})

test('a shard without records of a consumer has its first places, and skips what is no failing change', async () => {
  const consumers = new Map([['search', { incarnation: '', at: 1, begun: [5], floors: [] }]])
  const progress = async (): Promise<ConsumerProgress> =>
    (await readProgress(store.context, 1, consumers, {})).get('search')!
  const first = { updated: 0, since: 0 }
  expect(await progress()).toEqual({ partitions: Array.from({ length: 8 }, () => first), failing: [] })
  const { tasks } = search.memory.shards[1]!
  const passed = { id: 'b', passed: { to: 0, at: 3, behind: 7 } }
  const record = { incarnation: '', updated: 1, since: 1, failing: [null, { id: 5 }, { id: 'a' }, passed] }
  await tasks.claim(partitionTask('search', 2), 'a process', 60_000)
  await tasks.save(partitionTask('search', 2), 'a process', JSON.stringify(record), 0)
  expect((await progress()).failing).toEqual([
    { id: 'a', passedBehind: 0 },
    { id: 'b', passedBehind: 7 },
  ])
})

test('a process that ends while it waits for partitions gets none of the others', async () => {
  const waiting = createLeases()
  await waiting.refresh(new Set(), {})
  await waiting.release()
  await leases.refresh(new Set(), {})
  expect(leases.held).toHaveLength(8)
})

test('only the process with the most partitions releases some to one that waits', async () => {
  const [second, third, fourth] = [createLeases(), createLeases(), createLeases()]
  const refresh = async (...some: readonly PartitionLeases[]): Promise<void> => {
    for (const each of some) await each.refresh(new Set(), {})
  }
  await refresh(second, leases, second)
  expect([leases, second].map(({ held }) => held.length)).toEqual([4, 4])
  await refresh(third, leases, second, third)
  const [poor, rich] = [leases, second].toSorted((a, b) => a.held.length - b.held.length)
  expect([poor, rich, third].map((each) => each!.held.length)).toEqual([2, 4, 2])
  await refresh(fourth, poor!)
  expect(poor!.held).toHaveLength(2)
  await refresh(rich!, fourth)
  expect([rich, fourth].map((each) => each!.held.length)).toEqual([2, 2])
})

test('a process releases no partition that is busy', async () => {
  const waiting = createLeases()
  await waiting.refresh(new Set(), {})
  const busy = new Set(leases.held.slice(0, 6).map(({ number }) => number))
  await leases.refresh(busy, {})
  expect(leases.held.map(({ number }) => number)).toEqual([...busy])
})

test('claims of more partitions do not extend the leases of those that a process has', async () => {
  let now = 0
  const time = { ...store.context.time, now: () => now, elapsed: () => now }
  const second = createLeases({ ...store.context, time })
  for (const each of [second, leases, second]) await each.refresh(new Set(), {})
  expect(second.held).toHaveLength(4)
  expect(second.isSure).toBe(true)
  await leases.release()
  now = LEASE_MS - 1
  await second.refresh(new Set(), {})
  expect(second.held).toHaveLength(8)
  expect(second.isSure).toBe(true)
  now = LEASE_MS
  expect(second.isSure).toBe(false)
})
