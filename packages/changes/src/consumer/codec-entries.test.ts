import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { expect, it } from 'vitest'
import { entry, referring } from '../../test/referring-codec.ts'
import { until } from '../../test/search.ts'
import type { ChangedEntity } from './changed-entity.ts'
import { consume } from './consume.ts'

it('a shard that cannot be asked for codec entries fails no change', async () => {
  const memory = await memoryShards(1).connect()
  const failed: string[] = []
  const plan: FaultPlan = ({ table, operation }) =>
    table === 'codecEntries' && operation === 'read' && failed.length < 3
      ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'gone')) }
      : undefined
  const shards = keepOpen(memory)
  const writer = await DataStore.open({ shards, codec: referring(true), migrate: true })
  const reader = await DataStore.open({
    shards: keepOpen(faultyDriver(memory, plan)),
    codec: referring(false),
  })
  await memory.shards[0]!.codecEntries.add([entry])
  await writer.put({ n: 1 })
  const handled: ChangedEntity[] = []
  const onError = (error: unknown): void => void failed.push((error as LooseleafError).code)
  const consumer = consume(reader, 'search', (change) => void handled.push(change), {
    from: 'beginning',
    pollMs: 10,
    maxAttempts: 1,
    onError,
  })
  await until(() => handled.length === 1 || consumer.status().deadLettered > 0)
  expect(handled).toMatchObject([{ entity: { n: 1 }, attempt: 1 }])
  expect(consumer.status()).toMatchObject({ handled: 1, failed: 0, deadLettered: 0 })
  expect(new Set(failed)).toEqual(new Set(['SHARD_UNAVAILABLE']))
  await consumer.stop()
  await Promise.all([reader.close(), writer.close()])
  await memory.close()
})

it('a lease that expires while codec entries are loaded leaves the change to the process that takes over', async () => {
  const memory = await memoryShards(1).connect()
  const answered = Promise.withResolvers<void>()
  let isSilent = false
  let isLoading = false
  const plan: FaultPlan = ({ table, operation }) => {
    if (!isSilent) return undefined
    if (operation === 'saveAll')
      return { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'gone')) }
    if (table !== 'codecEntries' || operation !== 'read') return undefined
    isLoading = true
    return { before: () => answered.promise }
  }
  const late = await DataStore.open({
    shards: keepOpen(faultyDriver(memory, plan)),
    codec: referring(false),
    migrate: true,
  })
  const prompt = await DataStore.open({ shards: keepOpen(memory), codec: referring(true) })
  await memory.shards[0]!.codecEntries.add([entry])
  await prompt.put({ n: 1 })
  isSilent = true
  const handledBy = { late: 0, prompt: 0 }
  const options = { from: 'beginning', pollMs: 10, leaseMs: 200 } as const
  const first = consume(late, 'search', () => void handledBy.late++, options)
  await until(() => isLoading)
  const second = consume(prompt, 'search', () => void handledBy.prompt++, options)
  await until(() => handledBy.prompt === 1)
  isSilent = false
  answered.resolve()
  // The first process gets its share of the partitions again, and the change is not among their new ones.
  await until(() => first.status().shards[0]!.partitions === 4)
  expect(handledBy).toEqual({ late: 0, prompt: 1 })
  await Promise.all([first.stop(), second.stop()])
  await Promise.all([late.close(), prompt.close()])
  await memory.close()
})
