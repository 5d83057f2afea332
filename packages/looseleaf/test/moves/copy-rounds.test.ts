import { parseId, type EntityId } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets } from '@looseleaf/mover/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { openStore } from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: '0-1023' }

function idsIn(store: DataStore, buckets: string, count: number): readonly EntityId[] {
  const isIn = entitiesIn(store.context, buckets)
  const ids: EntityId[] = []
  while (ids.length < count) {
    const id = store.newId()
    if (isIn(parseId(id))) ids.push(id)
  }
  return ids
}

/** Inserts entities. A page that was read before lacks them, and has all others. */
async function insertSome(store: DataStore, count: number): Promise<void> {
  await store.putMany(idsIn(store, PLAN.buckets, count).map((id) => ({ id, n: 1 })))
}

test('writes since the last group are copied before the seal of the next one', async () => {
  const memory = await memoryShards(2).connect()
  const writer = await openStore(memory)
  const ids = idsIn(writer, '512-1023', 20)
  const calls: string[] = []
  let isWritten = false
  const watched = faultyDriver(memory, ({ operation, args }) => {
    const { serves } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
    const sealed = serves?.leaving?.find((record) => record.sealed !== undefined)?.sealed
    calls.push(sealed === undefined ? operation : `seal ${sealed}`)
    if (serves?.arrived === undefined || isWritten) return undefined
    isWritten = true
    return { after: async () => void (await writer.putMany(ids.map((id) => ({ id, n: 1 })))) }
  })
  const mover = await openStore(watched, leapingTime())
  const { counts } = await moveBuckets(mover, PLAN, { groups: 2 })
  expect(counts.entities).toBe(20)
  const [first, second] = [calls.indexOf('seal 0-511'), calls.indexOf('seal 512-1023')]
  expect(calls.slice(first, second)).toContain('receive')
  expect(calls.slice(second)).not.toContain('receive')
})

test.each([
  [20, 2],
  [19, 3],
])('entities are copied until a round has %i at most: in %i rounds', async (smallRound, rounds) => {
  const memory = await memoryShards(2).connect()
  const writer = await openStore(memory)
  await writer.putMany(idsIn(writer, '0-1023', 20).map((id) => ({ id, n: 1 })))
  let raises = 0
  const watched = faultyDriver(memory, ({ shard, operation }) => {
    if (shard === 0 && operation === 'raiseFloor') raises++
    return undefined
  })
  const mover = await openStore(watched, leapingTime())
  let before = -1
  const onProgress = ({ step }: { readonly step: string }): void => {
    if (step === 'checking' && before === -1) before = raises
  }
  // In pages of ten entities, whose sum counts.
  await moveBuckets(mover, PLAN, { smallRound, onProgress, rowsPerSecond: 10 })
  // One round follows the index rows.
  expect(before).toBe(rounds)
})

test.each([
  [15, 3],
  [16, 2],
])(
  'rounds end with one that copies more than half of the 30 before it: with %i, they are %i',
  async (written, rounds) => {
    const memory = await memoryShards(2).connect()
    const writer = await openStore(memory)
    const write = (count: number): Promise<void> => insertSome(writer, count)
    await write(30)
    const copied: number[] = []
    const watched = faultyDriver(memory, ({ shard, operation, args: [rows] }) => {
      if (operation === 'receive') copied[copied.length - 1]! += (rows as readonly unknown[]).length
      if (shard !== 0 || operation !== 'raiseFloor') return undefined
      copied.push(0)
      // Above the floor of the first round.
      return copied.length === 1 ? { after: () => write(written) } : undefined
    })
    const mover = await openStore(watched, leapingTime())
    let first: readonly number[] | undefined
    const onProgress = ({ step }: { readonly step: string }): void => {
      if (step === 'checking') first ??= [...copied]
    }
    expect(await moveBuckets(mover, PLAN, { smallRound: 0, onProgress })).toMatchObject({ state: 'done' })
    // One more round follows the index rows.
    expect(first).toEqual([30, written, ...Array.from({ length: rounds - 1 }, () => 0)])
  },
)

test('rounds end although as many entities are written during each', async () => {
  const memory = await memoryShards(2).connect()
  const writer = await openStore(memory)
  await insertSome(writer, 30)
  let rounds = 0
  let isCopying = true
  const watched = faultyDriver(memory, ({ shard, operation }) => {
    if (shard !== 0 || operation !== 'raiseFloor' || !isCopying) return undefined
    rounds++
    return { after: () => insertSome(writer, 30) }
  })
  const mover = await openStore(watched, leapingTime())
  const onProgress = ({ step }: { readonly step: string }): void => void (isCopying &&= step !== 'checking')
  expect(await moveBuckets(mover, PLAN, { smallRound: 0, onProgress })).toMatchObject({ state: 'done' })
  // Two before the index rows, and two after them.
  expect(rounds).toBe(4)
})

test('a group that is handed over ends behind the last write that was copied under its seal', async () => {
  const memory = await memoryShards(2).connect()
  const writer = await openStore(memory)
  const [id] = idsIn(writer, '0-511', 1)
  const { entities } = memory.shards[0]!
  const ends: (readonly [end: number, last: number])[] = []
  let isWritten = false
  const watched = faultyDriver(memory, ({ operation, args }) => {
    const { serves } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
    const isSealed = serves?.leaving?.some(({ sealed }) => sealed !== undefined) === true
    if (isSealed && !isWritten) {
      isWritten = true
      return { before: async () => void (await writer.put({ n: 1 }, { id })) }
    }
    const given = serves?.away?.[0]
    if (given === undefined || ends.length > 0) return undefined
    return {
      async before() {
        const page = await entities.pageOfChanges({ after: { updated: 0, addedId: 0 } }, 100, { maxBody: 0 })
        ends.push([given.end, page.at(-1)!.updated])
      },
    }
  })
  const { counts } = await moveBuckets(await openStore(watched, leapingTime()), PLAN, { groups: 2 })
  expect(counts).toMatchObject({ entities: 1, compared: 0 })
  const [[end, last] = [0, 0]] = ends
  expect(end).toBeGreaterThan(last)
})
