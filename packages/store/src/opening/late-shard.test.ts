import { LooseleafError, type Driver } from '@looseleaf/core'
import type { IndexTableSpec, ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { lateShard } from './late-shard.ts'

let memory: Driver
let plan: FaultPlan
/** Operations in the order in which they were sent. */
let sent: string[]
let checked: (ShardCatalog | undefined)[]
let answers: number

const spec: IndexTableSpec = { table: 'index_by_name', columns: [{ name: 'name', type: 'string' }] }
const unique: IndexTableSpec = { ...spec, table: 'index_by_name_claims', unique: true }

function late() {
  const driver = faultyDriver(memory, (call) => {
    sent.push(call.operation)
    return plan(call)
  })
  return lateShard(driver.shards[0]!, {
    check: (catalog) => void checked.push(catalog),
    onAnswer: () => void answers++,
  })
}

beforeEach(async () => {
  memory = await memoryShards(1).connect()
  await memory.shards[0]!.createTables()
  plan = () => undefined
  sent = []
  checked = []
  answers = 0
})
afterEach(async () => {
  await memory.close()
})

it('a late shard is checked once before its first calls of any kind', async () => {
  const shard = late()
  await Promise.all([shard.pending.tables(), shard.tasks.load('any'), shard.entities.read([])])
  await shard.createIndexTable(spec)
  await shard.index(spec).scan({ prefix: [], order: 'asc', limit: 1 })
  expect(sent[0]).toBe('load')
  expect(sent.slice(1).toSorted()).toEqual(['createIndexTable', 'load', 'read', 'scan', 'tables'])
  expect([checked, answers]).toEqual([[undefined], 1])
})

it('a late shard is checked before claims are taken', async () => {
  await memory.shards[0]!.createIndexTable(unique)
  const row = { key: [Buffer.from('a')], entityId: Buffer.alloc(16, 1), version: 1 }
  expect(await late().claims(unique).take([row])).toEqual([row])
  expect(sent).toEqual(['load', 'take'])
})

it('a late shard is not checked for methods that ask the database nothing', async () => {
  const shard = late()
  expect(shard.schema([spec])).toEqual(memory.shards[0]!.schema([spec]))
  expect(shard.index(spec)).toBe(shard.index(spec))
  expect(shard.claims(unique)).toBe(shard.claims(unique))
  expect(shard.name).toBe(memory.shards[0]!.name)
  expect(sent).toEqual([])
})

it('a late shard that does not answer is checked again by the next call, and gets no other statement before', async () => {
  const shard = late()
  plan = () => ({ before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) })
  await expect(shard.flush()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect([sent, answers]).toEqual([['load'], 0])
  plan = () => undefined
  await shard.flush()
  expect([sent, answers]).toEqual([['load', 'load', 'flush'], 1])
})

it('a call that waits for the check of a late shard ends with its signal', async () => {
  const shard = late()
  const controller = new AbortController()
  plan = () => ({ before: () => new Promise(() => {}) })
  const wait = shard.tasks.load('any', { signal: controller.signal })
  controller.abort()
  await expect(wait).rejects.toMatchObject({ code: 'ABORTED' })
  expect(sent).toEqual(['load'])
})
