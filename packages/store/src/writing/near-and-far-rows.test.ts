import { LooseleafError, parseId, type Bag, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { shardsOfRow, tableSpec } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen, unknownOutcome, type Fault, type FaultyCall } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

// Writes with claims of their own transaction and others on another shard, one at a time and in a batch.

const bySeat = defineIndex('by_seat', {
  properties: { group: 'uuid', seat: 'string' },
  shardOn: 'group',
  unique: true,
})
const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })

const AWAY = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
const away: Fault = { before: () => Promise.reject(AWAY) }
const lostRequest: Fault = { before: () => Promise.reject(unknownOutcome()) }

/** Returns the same fault for so many calls. */
const times = (length: number, fault: Fault): Fault[] => Array.from({ length }, () => fault)

let memory: Driver
let plan: (call: FaultyCall) => Fault | undefined
let calls: FaultyCall[]
let store: DataStore
/** Another process, without faults. */
let rival: DataStore
/** On shard 0. */
let group: EntityId
/** A mail whose claim is on shard 1. */
let mail: string

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  plan = () => undefined
  calls = []
  const driver = faultyDriver(memory, (call) => {
    calls.push(call)
    return plan(call)
  })
  const given = { indexes: [bySeat, byMail], time: leapingTime() }
  store = await DataStore.open({ ...given, shards: keepOpen(driver), migrate: true })
  rival = await DataStore.open({ ...given, shards: keepOpen(memory) })
  group = idOn(store, 0)
  const { placement } = store.context.catalog.current()
  for (let i = 0; ; i++) {
    mail = `${i}@example.com`
    if (shardsOfRow(claimsOf('by_mail'), placement, [Buffer.from(mail)], parseId(group))[0] === 1) break
  }
  calls = []
})
afterEach(async () => {
  await store.close()
  await rival.close()
  await memory.close()
})

const claimsOf = (index: string) =>
  store.context.catalog.current().indexes.find(({ name, unique }) => name === index && unique)!

/** Returns the number of claims of the mail. */
const mailClaims = (): Promise<number> =>
  memory.shards[1]!.index(tableSpec(claimsOf('by_mail'))).count({ prefix: [] })

const countOf = (operation: string): number => calls.filter((call) => call.operation === operation).length

/** The two ways to insert an entity near the group: each with the operation that commits it. */
const ways = [
  ['put', 'insert', (bag: Bag) => store.put({ group, ...bag }, { near: group })],
  ['batch', 'writeAll', (bag: Bag) => store.batch([{ insert: { group, ...bag } }], { near: group })],
] as const

describe.each(ways)('a %s of a fresh entity', (_, commit, write) => {
  const nthCommit = (faults: readonly (Fault | undefined)[]): void => {
    plan = ({ table, operation, number }) =>
      table === 'entities' && operation === commit ? faults[number - 1] : undefined
  }

  test('a taken local claim leaves no far claim or row behind', async () => {
    await rival.put({ group, seat: '1' }, { near: group })
    await expect(write({ seat: '1', mail })).rejects.toMatchObject({
      code: 'DUPLICATE_KEY',
      index: 'by_seat',
    })
    await store.settled()
    expect(await mailClaims()).toBe(0)
    const rows = store.context.catalog.current().indexes.find(({ table }) => table === 'index_by_mail')!
    expect(await memory.shards[1]!.index(tableSpec(rows)).count({ prefix: [] })).toBe(0)
  })

  test('a claim that is taken after a lost answer leaves the claims of the attempt that may be committed', async () => {
    nthCommit([
      lostRequest,
      { before: async () => void (await rival.put({ group, seat: '1' }, { near: group })) },
    ])
    await expect(write({ seat: '1', mail })).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      cause: { code: 'DUPLICATE_KEY' },
    })
    await store.settled()
    expect(await mailClaims()).toBe(1)
  })

  test('a far claim that fails after a lost answer stays, because the attempt may be committed', async () => {
    plan = ({ table, operation, number }) => {
      if (table === 'entities' && operation === commit && number === 1) return lostRequest
      return operation === 'take' && number === 2 ? away : undefined
    }
    await expect(write({ mail })).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      cause: { code: 'SHARD_UNAVAILABLE' },
    })
    await store.settled()
    expect(await mailClaims()).toBe(1)
  })

  test('with onIndexFailure defer a far claim that fails ends the write at once', async () => {
    await store.setPolicies({ onIndexFailure: 'defer' })
    plan = ({ operation }) => (operation === 'take' ? away : undefined)
    calls = []
    await expect(write({ seat: '1', mail })).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    expect([countOf('take'), countOf(commit)]).toEqual([1, 0])
  })

  test('with onIndexFailure defer a commit without local rows that fails ends the write at once', async () => {
    await store.setPolicies({ onIndexFailure: 'defer' })
    nthCommit(times(9, away))
    calls = []
    await expect(write({ n: 1 })).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    expect(countOf(commit)).toBe(1)
  })
})
