import type { EngineContext } from '@looseleaf/index-engine/internal'
import { partitionNumbers, partitionTask, placeAt } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { unknownOutcome, type Fault, type FaultyCall } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gone, Search } from '../../test/search.ts'
import { waitingTask } from '../records/names.ts'
import { recordFromText } from '../records/partition-record.ts'
import { createPartitionLeases, type PartitionLeases } from './partition-leases.ts'

/* The statements with which a process takes, keeps and ends its leases, and their faults. */

const LEASE_MS = 60_000

let search: Search
let store: DataStore
let now: number
let errors: unknown[]
let beginnings: number
let leases: PartitionLeases
/** Writes of tasks since the test began. */
let calls: FaultyCall[]
let faultOf: (call: FaultyCall) => Fault | undefined

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  now = 0
  errors = []
  beginnings = 0
  leases = createLeases()
  await leases.refresh(new Set(), {})
  calls = []
  faultOf = () => undefined
  search.plan = (call) => {
    if (['claim', 'claimAll', 'save', 'saveAll'].includes(call.operation)) calls.push(call)
    return faultOf(call)
  }
})
afterEach(() => search.end(store))

function createLeases(): PartitionLeases {
  const time = { ...store.context.time, now: () => now, elapsed: () => now }
  const context: EngineContext = { ...store.context, time }
  return createPartitionLeases(context, 0, {
    consumer: 'search',
    leaseMs: LEASE_MS,
    incarnation: () => '',
    async beginning() {
      beginnings++
      return { ...placeAt(0), since: 0 }
    },
    onError: (error) => void errors.push(error),
  })
}

const taskOf = (number: number): string => partitionTask('search', number)
const operations = (): readonly string[] => calls.map(({ operation }) => operation)
const refresh = (): Promise<void> => leases.refresh(new Set(), {})
const isWrite = ({ operation }: FaultyCall): boolean => operation === 'saveAll'

/** Lets this many writes of records have no answer, and not take place. */
function loseAnswers(count: number): readonly FaultyCall[] {
  const lost: FaultyCall[] = []
  faultOf = (call) => {
    if (!isWrite(call) || lost.length === count) return undefined
    lost.push(call)
    return {
      before() {
        throw unknownOutcome()
      },
    }
  }
  return lost
}

const unanswered = { unknownOutcome: true }
const refused = { code: 'SHARD_UNAVAILABLE' }
const refuse = (call: FaultyCall): Fault | undefined => (isWrite(call) ? gone : undefined)

test('a save without an answer costs one write more, which names the partitions alone', async () => {
  loseAnswers(1)
  await expect(leases.save()).rejects.toMatchObject(unanswered)
  await leases.save()
  await leases.save()
  await refresh()
  expect(operations()).toEqual(['saveAll', 'saveAll', 'saveAll', 'saveAll'])
  const { args } = calls[1]!
  expect([...(args[0] as ReadonlyMap<string, string>).keys()]).toEqual(partitionNumbers.map(taskOf))
  expect(args[3]).toEqual({ nextOwner: expect.any(String) })
  const owners = calls.map((call) => call.args[1])
  expect(owners[1]).toBe(owners[0])
  expect([owners[2], owners[3]]).toEqual(Array(2).fill((args[3] as { nextOwner: string }).nextOwner))
})

test('a save that was refused costs no other owner, and a refused release leaves the partitions with the process', async () => {
  faultOf = refuse
  await expect(leases.save()).rejects.toMatchObject(refused)
  await expect(leases.release()).rejects.toMatchObject(refused)
  expect(leases.held).toHaveLength(8)
  faultOf = () => undefined
  await leases.save()
  expect(operations()).toEqual(['saveAll', 'saveAll', 'saveAll'])
  expect(new Set(calls.map(({ args }) => args[1])).size).toBe(1)
})

test('a change of the owner that was refused leaves the partitions with the process', async () => {
  loseAnswers(1)
  await expect(leases.save()).rejects.toMatchObject(unanswered)
  faultOf = refuse
  await expect(leases.save()).rejects.toMatchObject(refused)
  await expect(refresh()).rejects.toMatchObject(refused)
  faultOf = () => undefined
  await leases.save()
  expect(leases.held.map(({ isHeld }) => isHeld)).toEqual(Array(8).fill(true))
})

test('a look for partitions begins with the change of the owner, and gives them up if there is no answer once more', async () => {
  const lost = loseAnswers(2)
  await expect(leases.save()).rejects.toMatchObject(unanswered)
  await expect(refresh()).rejects.toMatchObject(unanswered)
  expect(lost[1]!.args[3]).toEqual({ nextOwner: expect.any(String) })
  expect(leases.held).toEqual([])
})

test('a release after a save without an answer takes one write, and that save changes nothing when it takes place late', async () => {
  const lost = loseAnswers(1)
  await expect(leases.save()).rejects.toMatchObject(unanswered)
  leases.held[3]!.place = { updated: 7, addedId: 0 }
  await leases.release()
  expect(operations()).toEqual(['saveAll', 'saveAll'])
  const { tasks } = search.memory.shards[0]!
  const [texts, owner, leaseMs] = lost[0]!.args as Parameters<typeof tasks.saveAll>
  expect(await tasks.saveAll(texts, owner, leaseMs)).toEqual(new Set())
  const state = (await tasks.load(taskOf(3)))!
  expect([state.owner, recordFromText(state.progress)!.place.updated]).toEqual([undefined, 7])
})

test('a process without partitions writes nothing', async () => {
  await leases.release()
  calls.length = 0
  await leases.release()
  await leases.save()
  expect(operations()).toEqual([])
  await refresh()
  expect(operations()).toEqual(['claimAll'])
})

test('a partition that another process took over before the answer to a save without one is given up alone', async () => {
  loseAnswers(1)
  await expect(leases.save()).rejects.toMatchObject(unanswered)
  const { tasks } = search.memory.shards[0]!
  const owner = calls[0]!.args[1] as string
  await tasks.saveAll(new Map([[taskOf(3), '']]), owner, 0)
  await tasks.claim(taskOf(3), 'operator', LEASE_MS)
  await leases.save()
  expect(leases.held.map(({ number }) => number)).toEqual([0, 1, 2, 4, 5, 6, 7])
})

test('a process has only those of the free partitions that its claim got', async () => {
  await leases.release()
  const { tasks } = search.memory.shards[0]!
  faultOf = ({ operation }) =>
    operation === 'claimAll'
      ? { before: async () => void (await tasks.claim(taskOf(3), 'operator', LEASE_MS)) }
      : undefined
  await refresh()
  expect(leases.held.map(({ number }) => number)).toEqual([0, 1, 2, 4, 5, 6, 7])
})

test('partitions whose claim had no answer are claimed again at the next look', async () => {
  await leases.release()
  let claims = 0
  faultOf = ({ operation }) =>
    operation === 'claimAll' && ++claims === 1
      ? {
          after() {
            throw unknownOutcome()
          },
        }
      : undefined
  await expect(refresh()).rejects.toMatchObject(unanswered)
  expect(leases.held).toEqual([])
  await refresh()
  expect(leases.held).toHaveLength(8)
})

test('partitions with records need no first place', async () => {
  await leases.save()
  await leases.release()
  beginnings = 0
  await refresh()
  expect(leases.held).toHaveLength(8)
  // The look itself asks, because this shard does not know the consumer.
  expect(beginnings).toBe(1)
})

test('leases are confirmed by a save once they may have expired, which concurrent calls share', async () => {
  await leases.save()
  calls.length = 0
  expect(await leases.confirm()).toBe(true)
  expect(operations()).toEqual([])
  now += LEASE_MS
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  faultOf = (call) => (isWrite(call) ? { before: () => (begin(), held) } : undefined)
  const first = leases.confirm()
  await begun
  const second = leases.confirm()
  release()
  expect(await Promise.all([first, second])).toEqual([true, true])
  expect(operations()).toEqual(['saveAll'])
  now += LEASE_MS
  faultOf = refuse
  expect(await leases.confirm()).toBe(false)
  expect(errors).toMatchObject([refused])
  faultOf = () => undefined
  expect(await leases.confirm()).toBe(true)
  expect(leases.isSure).toBe(true)
})

test.each([true, false])(
  'a claim of more partitions does not extend the leases of those that a process has (with records: %s)',
  async (hasRecords) => {
    const { tasks } = search.memory.shards[0]!
    const others = partitionNumbers.slice(4).map(taskOf)
    await leases.save()
    await leases.release()
    await tasks.claimAll(others, 'operator', LEASE_MS)
    await refresh()
    expect([leases.held.length, leases.isSure]).toEqual([4, true])
    const texts = await tasks.loadAll(others)
    await tasks.saveAll(
      new Map(others.map((name) => [name, hasRecords ? texts.get(name)!.progress : ''])),
      'operator',
      0,
    )
    now = LEASE_MS - 1
    await refresh()
    expect([leases.held.length, leases.isSure]).toEqual([8, true])
    now = LEASE_MS
    expect(leases.isSure).toBe(false)
  },
)

test('a process that waits for partitions ends its wait with one write, before its release resolves', async () => {
  const waiting = createLeases()
  await waiting.refresh(new Set(), {})
  expect(operations()).toEqual(['claim'])
  await leases.release()
  calls.length = 0
  await waiting.refresh(new Set(), {})
  await waiting.refresh(new Set(), {})
  expect(operations()).toEqual(['claimAll', 'save'])
  const third = createLeases()
  await third.refresh(new Set(), {})
  faultOf = ({ operation }) => (operation === 'save' ? gone : undefined)
  await expect(third.release()).rejects.toMatchObject(refused)
  expect((await search.memory.shards[0]!.tasks.load(waitingTask('search')))!.owner).toBeDefined()
})
