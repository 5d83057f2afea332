import type { EntityId } from '@looseleaf/core'
import type { LetterList } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gone, Search } from '../../test/search.ts'
import { addLetters, editLettersOf, readLetters } from '../records/dead-letters.ts'
import type { Failing } from '../records/partition-record.ts'
import type { HeldPartition } from './partition-leases.ts'
import { createReplays, type Replays } from './replays.ts'

/* Letters of entities without a row, which any partition may retry. */

let search: Search
let store: DataStore
let partition: HeldPartition
let replays: Replays
let now: number
/** Called with each save of the partitions. */
let onSave: () => Promise<void> | void

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  now = 0
  onSave = () => {}
  partition = {
    number: 3,
    place: { updated: 1, addedId: 0 },
    since: 1,
    failing: new Map(),
    isHeld: true,
  }
  const time = { ...store.context.time, elapsed: () => now }
  replays = createReplays({ ...store.context, time }, 'search', 0, {
    leases: { save: async () => onSave() },
    passing: { isOver: () => false },
  })
})
afterEach(() => search.end(store))

const change = (id: EntityId, version = 1): Failing => ({
  id,
  version,
  attempts: 7,
  error: 'never',
  failedAt: 1,
})
const newIds = (count: number): EntityId[] => Array.from({ length: count }, () => store.newId())
const add = (list: LetterList, ids: readonly EntityId[], version?: number): Promise<unknown> =>
  addLetters(
    store.context,
    'search',
    { shard: 0, partition: 3, list },
    ids.map((id) => change(id, version)),
    {},
  )
const mark = (ids: readonly EntityId[]): Promise<unknown> =>
  editLettersOf(
    store.context,
    'search',
    { shard: 0, partition: 3 },
    ({ id }) => ids.includes(id),
    (letter) => [{ ...letter, replay: true }],
    {},
  )
const lettersIn = async (list: LetterList): Promise<readonly (readonly [string, number])[]> =>
  (await readLetters(store.context, 'search', 0, [3], {}))[list]
    .get(3)!
    .map(({ id, version }) => [id, version])

async function addReplayed(ids: readonly EntityId[]): Promise<void> {
  await add('dead', ids)
  await mark(ids)
}

async function takeAll(): Promise<void> {
  for (const [held, wanted] of await replays.readWanted([partition], {})) await replays.take(held, wanted, {})
}

function setFailing(ids: readonly EntityId[]): void {
  for (const id of ids) partition.failing.set(id, change(id))
}

test('dead letters that nobody wants replayed stay, and a partition without others is left alone', async () => {
  const ids = newIds(2)
  await add('dead', ids)
  expect((await replays.readWanted([partition], {})).size).toBe(0)
  await mark(ids.slice(1))
  await takeAll()
  expect([...partition.failing]).toEqual([[ids[1], { ...change(ids[1]!), attempts: 0 }]])
  expect(await lettersIn('dead')).toEqual([[ids[0], 1]])
})

test('letters fill half of the failing changes of a partition, those that another shard passed on first', async () => {
  setFailing(newIds(30))
  const [moved, dead] = [newIds(15), newIds(15)]
  await add('moved', moved)
  await addReplayed(dead)
  await takeAll()
  expect([...partition.failing.keys()].slice(30)).toEqual([...dead.slice(0, 5), ...moved])
  expect((await lettersIn('dead')).map(([id]) => id)).toEqual(dead.slice(5))
})

test('a letter of each list is taken at the same time', async () => {
  const [moved, dead] = [newIds(1), newIds(1)]
  await add('moved', moved)
  await addReplayed(dead)
  await takeAll()
  expect([...partition.failing.keys()]).toEqual([...dead, ...moved])
})

test.each([
  [49, 1],
  [50, 0],
  [60, 0],
])('a partition with %i failing changes of its own takes %i letters', async (count, taken) => {
  setFailing(newIds(count))
  await add('moved', newIds(30))
  await takeAll()
  expect(partition.failing.size).toBe(count + taken)
})

test.each([
  [1, 2],
  [2, 2],
  [3, 3],
])('a moved letter of version 2 replaces a failing change of version %i by version %i', async (has, gets) => {
  const [id] = newIds(1)
  const known = { ...change(id!, has), attempts: 3 }
  partition.failing.set(id!, known)
  await add('moved', [id!], 2)
  await takeAll()
  expect(partition.failing.get(id!)).toMatchObject({ version: gets, attempts: has < 2 ? 7 : 3 })
  expect(await lettersIn('moved')).toEqual([])
})

test('letters are removed after their changes were saved as failing', async () => {
  const [moved, dead] = [newIds(1), newIds(1)]
  await add('moved', moved)
  await addReplayed(dead)
  const seen: unknown[] = []
  onSave = async () => {
    seen.push([...partition.failing.keys()])
    seen.push(...(await lettersIn('dead')), ...(await lettersIn('moved')))
  }
  await takeAll()
  expect(seen).toEqual([
    [...dead, ...moved],
    [dead[0], 1],
    [moved[0], 1],
  ])
})

test('a partition that is lost by the save of its changes keeps the letters', async () => {
  const [moved, dead] = [newIds(1), newIds(1)]
  await add('moved', moved)
  await addReplayed(dead)
  onSave = () => {
    partition.isHeld = false
  }
  await takeAll()
  expect([await lettersIn('dead'), await lettersIn('moved')]).toEqual([[[dead[0], 1]], [[moved[0], 1]]])
})

test('a letter that was written again after it was read stays', async () => {
  const [moved, dead, again] = [newIds(1), newIds(1), newIds(1)]
  await add('moved', moved)
  await addReplayed([...dead, ...again])
  onSave = async () => {
    await add('moved', moved, 2)
    await add('dead', dead, 2)
    await mark(dead)
    await add('dead', again)
  }
  await takeAll()
  expect(await lettersIn('moved')).toEqual([[moved[0], 2]])
  expect((await lettersIn('dead')).toSorted()).toEqual(
    [...dead.map((id) => [id, 2]), [again[0], 1]].toSorted(),
  )
})

test.each(['dead', 'moved'] as const)(
  'a take whose letters of the %s ones cannot be removed rejects',
  async (list) => {
    const ids = newIds(1)
    await (list === 'dead' ? addReplayed(ids) : add(list, ids))
    search.plan = ({ operation }) => (operation === 'save' ? gone : undefined)
    await expect(takeAll()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    expect([...partition.failing.keys()]).toEqual(ids)
  },
)

test('reading letters takes a fiftieth of the time at most, and none without partitions', async () => {
  let reads = 0
  search.plan = ({ operation }) => {
    if (operation !== 'loadAll') return undefined
    reads++
    return { before: () => void (now += 10) }
  }
  now = 100
  expect((await replays.readWanted([], {})).size).toBe(0)
  expect(reads).toBe(0)
  await add('moved', newIds(1))
  expect((await replays.readWanted([partition], {})).size).toBe(1)
  expect(reads).toBe(1)
  // It took 10 ms and ended at 110.
  now = 609
  expect((await replays.readWanted([partition], {})).size).toBe(0)
  expect(reads).toBe(1)
  now = 610
  expect((await replays.readWanted([partition], {})).size).toBe(1)
  expect(reads).toBe(2)
})
