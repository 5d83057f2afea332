import { LooseleafError, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'

// Each shard has a warning.

let memory: Driver
/** True while shard 1 does not answer. */
let isAway: boolean
let received: string[]
/** Operations sent to each shard, as `table operation`. */
let sent: string[][]
let warningsOf: (shard: string) => Promise<readonly string[]>

async function open(): Promise<DataStore> {
  const faulty = faultyDriver(memory, ({ shard, table, operation }) => {
    sent[shard]!.push(`${table} ${operation}`)
    return shard === 1 && isAway
      ? {
          before: () =>
            Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.', { shard: 'memory 1' })),
        }
      : undefined
  })
  const driver: Driver = {
    shards: faulty.shards.map((shard) => ({ ...shard, warnings: () => warningsOf(shard.name) })),
    close: async () => {},
  }
  return DataStore.open({
    shards: { shardCount: 2, connect: async () => driver },
    migrate: !isAway,
    onWarning: (warning) => received.push(warning),
  })
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  isAway = false
  received = []
  sent = [[], []]
  warningsOf = async (shard) => [`${shard} is slow.`]
  await open()
  received = []
  sent = [[], []]
})
afterEach(() => memory.close())

it('open passes on the warnings of all shards before it resolves', async () => {
  warningsOf = async (shard) => {
    await turn()
    return [`${shard} is slow.`]
  }
  await open()
  expect(received).toEqual(['memory 0 is slow.', 'memory 1 is slow.'])
})

it('a shard that answers late passes on its warnings then, and the others do not repeat theirs', async () => {
  isAway = true
  const store = await open()
  expect(received).toEqual(['memory 0 is slow.', 'Calls that need this shard fail until it answers. Away.'])
  expect(store.context.catalog.current().silent).toMatchObject([{ code: 'SHARD_UNAVAILABLE' }])
  isAway = false
  for (const shard of store.context.driver.shards) await shard.tasks.load('any')
  await turn()
  expect(received.slice(2)).toEqual(['memory 1 is slow.'])
  expect(sent[0]).toEqual(['catalog load', 'entities pageByAdded', 'tasks loadAll', 'tasks load'])
})

it('a shard that answers late, but not with its warnings, fails no call', async () => {
  isAway = true
  const store = await open()
  isAway = false
  warningsOf = () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away again.'))
  await store.context.driver.shards[1]!.tasks.load('any')
  await turn()
  expect(received).toHaveLength(2)
})

it('a store opens although a shard stops answering while its warnings are read', async () => {
  warningsOf = (shard) =>
    shard === 'memory 0'
      ? Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Gone again.'))
      : Promise.resolve([`${shard} is slow.`])
  await open()
  expect(received).toEqual(['The settings of a shard could not be read. Gone again.', 'memory 1 is slow.'])
  warningsOf = () => Promise.reject(new LooseleafError('STATEMENT_FAILED', 'No.'))
  await expect(open()).rejects.toMatchObject({ code: 'STATEMENT_FAILED' })
})
