import { partitionNumbers, partitionTask } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { crashingShards } from '@looseleaf-tooling/kit/crashing-shards'
import { expect, it } from 'vitest'
import { recordToText } from '../records/partition-record.ts'
import { storeProgress } from './store-progress.ts'

const END = 100
const AWAY = { move: 1, attempt: 1, buckets: '7', to: 1, end: END }

it('a place that a crash takes back counts as not reached', async () => {
  let crashes = false
  const shards = crashingShards(1, (driver) =>
    faultyDriver(driver, ({ operation }) =>
      crashes && operation === 'flush' ? { before: () => shards.crash(0) } : undefined,
    ),
  )
  await using store = await DataStore.open({ shards: shards.factory, migrate: true })
  const { tasks } = store.context.driver.shards[0]!
  const names = partitionNumbers.map((partition) => partitionTask('search', partition))
  const save = async (updated: number): Promise<void> => {
    const place = { updated, addedId: 0 }
    const record = { incarnation: 'a', place, since: 1, failing: [], process: '' }
    await tasks.claimAll(names, 'a process', 60_000)
    await tasks.saveAll(new Map(names.map((name) => [name, recordToText(record)])), 'a process', 0)
  }
  const hasHandled = (): Promise<boolean> =>
    storeProgress(store.context, 'search', {
      registration: () => ({ incarnation: 'a', at: 1, begun: [0], floors: [1] }),
      everyMs: 1_000,
    }).hasHandled(0, 7, [AWAY])
  await save(END - 1)
  expect(await hasHandled()).toBe(false)
  shards.hang(0)
  await save(END)
  crashes = true
  expect(await hasHandled()).toBe(false)
  crashes = false
  await save(END)
  expect(await hasHandled()).toBe(true)
})
