import { parseId, type EntityId } from '@looseleaf/core'
import { PARTITIONS, type LetterList } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Search } from '../../test/search.ts'
import { addLetters, editLetters, readLetters, type StoredLetter } from '../records/dead-letters.ts'
import type { Failing } from '../records/partition-record.ts'
import type { HeldPartition } from './partition-leases.ts'
import { createReplays, type Replays } from './replays.ts'
import { createRowHandler } from './row-handler.ts'

let search: Search
let store: DataStore
let id: EntityId
let shard: number
/** The partition that has the entity, and another one. */
let own: number
let other: number
let partition: HeldPartition
let replays: Replays
/** Called with each save of the partitions. */
let onSave: () => Promise<void> | void
/** Entities that have left the shard. */
let departed: Set<string>

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  ;({ id } = await store.put({ n: 1 }))
  shard = store.context.router.shardOfId(parseId(id))
  const [row] = await search.memory.shards[shard]!.entities.checksums([parseId(id)])
  own = row!.addedId % PARTITIONS
  other = (own + 1) % PARTITIONS
  const place = { updated: 1, addedId: 0 }
  partition = { number: other, place, since: 1, failing: new Map(), isHeld: true }
  departed = new Set()
  onSave = () => {}
  replays = createReplays(store.context, 'search', shard, {
    leases: { save: async () => onSave() },
    passing: { isOver: (change) => departed.has(change.id) },
  })
})
afterEach(() => search.end(store))

const failing = (of: EntityId): Failing => ({ id: of, version: 1, attempts: 7, error: 'never', failedAt: 1 })

/** Adds letters to a list of the partition that does not have the entity, and marks dead ones for replay. */
async function addToOther(list: LetterList, ids: readonly EntityId[]): Promise<void> {
  await addLetters(store.context, 'search', { shard, partition: other, list }, ids.map(failing), {})
  const mark = (letter: StoredLetter): readonly StoredLetter[] => [{ ...letter, replay: true }]
  await editLetters(store.context, 'search', () => true, mark, {})
}

async function takeAll(): Promise<void> {
  for (const [held, wanted] of await replays.readWanted([partition], {})) await replays.take(held, wanted, {})
}

async function lettersIn(number: number, list: LetterList): Promise<readonly (readonly [string, number])[]> {
  const letters = (await readLetters(store.context, 'search', shard, [number], {}))[list].get(number) ?? []
  return letters.map((letter) => [letter.id, letter.attempts])
}

test.each([
  ['dead', 0],
  ['moved', 7],
] as const)(
  'a letter of the %s ones whose entity has another partition is passed on to that one, with %i attempts',
  async (list, attempts) => {
    const purged = store.newId()
    await addToOther(list, [id, purged])
    await takeAll()
    expect([...partition.failing.keys()]).toEqual([purged])
    expect(await lettersIn(other, list)).toEqual([])
    expect(await lettersIn(own, 'moved')).toEqual([[id, attempts]])
  },
)

test.each(['moved', 'dead'] as const)(
  'a partition with failing changes that wait for another shard takes letters of the %s ones that it can handle itself',
  async (list) => {
    for (let n = 0; n < 100; n++) {
      const waiting = store.newId()
      departed.add(waiting)
      partition.failing.set(waiting, failing(waiting))
    }
    const gone = store.newId()
    departed.add(gone)
    const ids = Array.from({ length: 60 }, () => store.newId())
    await addToOther(list, [gone, ...ids])
    await takeAll()
    expect([...partition.failing.keys()].slice(100)).toEqual(ids.slice(0, 50))
    expect((await lettersIn(other, list)).map(([letter]) => letter)).toEqual([gone, ...ids.slice(50)])
  },
)

test('failing changes of several partitions are looked up by one statement before their retries', async () => {
  const third = (own + 2) % PARTITIONS
  const next: HeldPartition = { ...partition, number: third, failing: new Map() }
  const gone = store.newId()
  partition.failing.set(id, failing(id))
  next.failing.set(gone, failing(gone))
  const checksums = vi.spyOn(store.context.driver.shards[shard]!.entities, 'checksums')
  const due = new Map([
    [id, partition],
    [gone, next],
  ])
  expect([...(await replays.withoutMisplaced(due, {})).keys()]).toEqual([gone])
  expect(checksums).toHaveBeenCalledTimes(1)
  expect(partition.failing.size).toBe(0)
  expect((await lettersIn(own, 'moved')).map(([letter]) => letter)).toEqual([id])
})

test('a failing change waits for another pause if the list of the partition that has its entity is full', async () => {
  const ids = Array.from({ length: 10_000 }, () => store.newId())
  await addLetters(store.context, 'search', { shard, partition: own, list: 'moved' }, ids.map(failing), {})
  let elapsed = 0
  const time = { ...store.context.time, elapsed: () => elapsed }
  const { due } = createRowHandler({ ...store.context, time }, shard, 'search', () => {}, {
    retryMs: 100,
  } as Parameters<typeof createRowHandler>[4])
  const gone = store.newId()
  for (const each of [id, gone]) partition.failing.set(each, failing(each))
  const dueIds = (): readonly string[] => due(partition).map((change) => change.id)
  expect(dueIds()).toEqual([])
  elapsed = 1_000_000
  expect(dueIds()).toEqual([id, gone])
  const found = new Map(dueIds().map((each) => [each, partition]))
  expect([...(await replays.withoutMisplaced(found, {})).keys()]).toEqual([gone])
  expect([...partition.failing.values()]).toEqual([failing(id), failing(gone)])
  expect(dueIds()).toEqual([gone])
  elapsed = 2_000_000
  expect(dueIds()).toContain(id)
})

test('a letter stays while the list of the partition that has its entity is full', async () => {
  const ids = Array.from({ length: 10_000 }, () => store.newId())
  await addLetters(store.context, 'search', { shard, partition: own, list: 'moved' }, ids.map(failing), {})
  await addToOther('dead', [id])
  await takeAll()
  expect(partition.failing.size).toBe(0)
  expect(await lettersIn(other, 'dead')).toEqual([[id, 7]])
})

test('a failing change stays with its partition while the list of the one that has its entity is full', async () => {
  const ids = Array.from({ length: 10_000 }, () => store.newId())
  await addLetters(store.context, 'search', { shard, partition: own, list: 'moved' }, ids.map(failing), {})
  partition.failing.set(id, failing(id))
  expect((await replays.withoutMisplaced(new Map([[id, partition]]), {})).size).toBe(0)
  expect([...partition.failing.keys()]).toEqual([id])
})
