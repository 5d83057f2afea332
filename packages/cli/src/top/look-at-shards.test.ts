import { setTimeout as sleep } from 'node:timers/promises'
import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { expect, test } from 'vitest'
import type { Invocation } from '../running/invocation.ts'
import { lookAtShards, type ShardLook } from './look-at-shards.ts'

test('a look counts the entities written since the previous look, and marks a count that reached its limit', async () => {
  await using store = await DataStore.open({ shards: memoryShards(2), migrate: true, onWarning: () => {} })
  const invocation = invocationOf(store)
  const look = async (before?: readonly ShardLook[]): Promise<readonly ShardLook[]> => {
    // Keeps the times of writes apart from the times of looks.
    await sleep(5)
    const shards = await lookAtShards(invocation, before)
    await sleep(5)
    return shards
  }
  const put = (count: number) => store.putMany(Array.from({ length: count }, (_, n) => ({ n })))
  await put(3)
  const first = await look()
  expect(first.map(({ written }) => written)).toEqual([undefined, undefined])
  await put(40)
  const second = await look(first)
  const counts = second.map(({ now = 0, written }, i) => {
    expect(written?.more).toBe(false)
    return Math.round(written!.perSecond * ((now - first[i]!.now!) / 1e6))
  })
  expect(counts.reduce((sum, count) => sum + count)).toBe(40)
  await put(3_000)
  const third = await look(second)
  expect(third.map(({ written }) => written?.more)).toEqual([true, true])
  expect((await look(third)).map(({ written }) => written?.perSecond)).toEqual([0, 0])
})

const openOne = (): Promise<DataStore> =>
  DataStore.open({ shards: memoryShards(1), migrate: true, onWarning: () => {} })
const invocationOf = (store: DataStore, signal = new AbortController().signal): Invocation =>
  ({ openStore: async () => store, signal }) as unknown as Invocation

test('a shard that does not answer has no write rate in this look and in the next one', async () => {
  await using store = await openOne()
  const invocation = invocationOf(store)
  const [shard] = store.context.driver.shards
  const first = await lookAtShards(invocation)
  const { now } = shard!
  shard!.now = () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'It sleeps.'))
  const silent = await lookAtShards(invocation, first)
  expect(silent).toEqual([
    { name: shard!.name, error: expect.objectContaining({ code: 'SHARD_UNAVAILABLE' }) },
  ])
  shard!.now = now
  const [back] = await lookAtShards(invocation, silent)
  expect([back!.error, back!.written]).toEqual([undefined, undefined])
})

test('a shard that answers and refuses other statements has a round trip and no counts', async () => {
  await using store = await openOne()
  const invocation = invocationOf(store)
  const [shard] = store.context.driver.shards
  const first = await lookAtShards(invocation)
  const refuse = () => Promise.reject(new LooseleafError('SHARD_DENIED', 'It refuses that.'))
  shard!.sizes = refuse
  shard!.entities.pageByUpdated = refuse
  await sleep(5)
  const [look] = await lookAtShards(invocation, first)
  expect([look!.error, look!.entities, look!.written]).toEqual([undefined, undefined, undefined])
  expect(look!.answersInMs).toBeGreaterThan(0)
})

test('a write after the clock of a look was read counts in the next look', async () => {
  await using store = await openOne()
  const invocation = invocationOf(store)
  const [shard] = store.context.driver.shards
  const first = await lookAtShards(invocation)
  const since = first[0]!.now!
  await sleep(5)
  await store.put({ n: 1 })
  shard!.now = async () => since + 1_000
  const second = await lookAtShards(invocation, first)
  expect(second[0]!.written).toEqual({ perSecond: 0, more: false })
  // A clock that stands still or went back gives no rate.
  expect((await lookAtShards(invocation, second))[0]!.written).toBeUndefined()
  shard!.now = async () => since + 1e9
  expect((await lookAtShards(invocation, second))[0]!.written!.perSecond).toBeGreaterThan(0)
})

test('a stopped command rejects the look instead of blaming the shard', async () => {
  await using store = await openOne()
  const signal = AbortSignal.abort()
  await expect(lookAtShards(invocationOf(store, signal))).rejects.toMatchObject({ code: 'ABORTED' })
})
