import { formatId, LooseleafError, parseId, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { bucketOfId } from '@looseleaf/router'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../data-store.ts'

let memory: Driver
let plan: FaultPlan
let store: DataStore

const unreached = (shard: string): Promise<never> =>
  Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', `${shard}: no answer.`, { shard, retryable: true }))

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  plan = () => undefined
  const driver = faultyDriver(memory, (call) => plan(call))
  store = await DataStore.open({ shards: keepOpen(driver), migrate: true, time: leapingTime() })
  onTestFinished(async () => {
    await store.close()
    await memory.close()
  })
})

test('a call whose signal fires does not wait for the catalog that tells whether its shard was removed', async () => {
  const answered = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  plan = ({ shard, table }) => {
    if (table === 'catalog')
      return {
        before() {
          asked.resolve()
          return answered.promise
        },
      }
    return shard === 1 && table === 'entities' ? { before: () => unreached('memory 1') } : undefined
  }
  let id = store.newId()
  while (bucketOfId(parseId(id)) < 2_048) id = store.newId()
  const aborter = new AbortController()
  const call = store.put({ n: 1 }, { id, signal: aborter.signal })
  await asked.promise
  aborter.abort()
  await expect(call).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  answered.resolve()
})

test.each(['put', 'insert', 'putMany'] as const)(
  'a call of %s that fails because of a removed shard again and again is made three times, under one id',
  async (name) => {
    await store.shards.drain(1)
    await store.shards.remove(1)
    const ids = new Set<string>()
    let calls = 0
    plan = ({ table, operation, args }) => {
      if (table !== 'entities' || operation !== 'insert') return undefined
      calls++
      for (const { id } of args[0] as readonly { readonly id: Uint8Array }[]) ids.add(formatId(id))
      return { before: () => unreached('memory 1') }
    }
    const call = name === 'putMany' ? store.putMany([{ n: 1 }]) : store[name]({ n: 1 })
    await expect(call).rejects.toThrow()
    expect([calls, ids.size]).toEqual([3, 1])
  },
)
