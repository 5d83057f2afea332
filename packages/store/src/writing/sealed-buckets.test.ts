import { LooseleafError, parseId, type Driver, type EntityId, type Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeServes, tableSpec } from '@looseleaf/index-engine/internal'
import { fence } from '@looseleaf/protocol/internal'
import { bucketOfId } from '@looseleaf/router'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'
import { handOverOf, type HandOver } from '../../test/hand-over.ts'
import { repairVersion } from './repair-version.ts'

const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })

const SEALED = '0-99'

let memory: Driver
let plan: FaultPlan
let calls: string[]
let store: DataStore
let move: HandOver
/** In a bucket that is sealed, and in one of the same shard that is not. */
let id: EntityId
let otherId: EntityId
/** Milliseconds. Only sleeps move the clock. */
let now: number
let sleeps: number[]
/** Waits that the observer was told of: shard and milliseconds. */
let waits: (readonly [string, number])[]

/** A clock whose sleeps take no time of the machine. */
const time: Time = {
  now: () => now,
  async sleep(milliseconds, signal) {
    // Notes of waits are saved in the background. They are no part of these tests, and would move the clock.
    if (milliseconds === 1_000) await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    await new Promise((resolve) => setImmediate(resolve))
    if (signal?.aborted) throw signal.reason
    now += milliseconds
    sleeps.push(milliseconds)
  },
}

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  now = Date.now()
  calls = []
  sleeps = []
  waits = []
  plan = () => undefined
  store = await open()
  id = idIn((bucket) => bucket < 100)
  otherId = idIn((bucket) => bucket >= 100 && bucket < 2048)
  move = handOverOf(memory)
  await move.begin()
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

function open(options: { writeTimeoutMs?: number } = {}): Promise<DataStore> {
  const driver = faultyDriver(memory, (call) => {
    calls.push(`${call.table} ${call.operation} ${call.shard}`)
    return plan(call)
  })
  return DataStore.open({
    shards: keepOpen(driver),
    indexes: [byMail],
    migrate: true,
    time,
    observer: {
      happened(event) {
        if (event.kind === 'seal_wait') waits.push([event.shard, event.waitMs])
      },
    },
    ...options,
  })
}

function idIn(wanted: (bucket: number) => boolean): EntityId {
  let made: EntityId
  do made = store.newId()
  while (!wanted(bucketOfId(parseId(made))))
  return made
}

const countOf = (call: string): number => calls.filter((each) => each === call).length

/** Tells which shards have a row of an entity. */
async function shardsWith(of: EntityId): Promise<number[]> {
  const rows = await Promise.all(memory.shards.map(({ entities }) => entities.readVersions([parseId(of)])))
  return rows.flatMap(([version], number) => (version === undefined ? [] : [number]))
}

async function isSealed(): Promise<boolean> {
  return (await memory.shards[0]!.catalog.load())!.serves!.leaving!.some(({ sealed }) => sealed !== undefined)
}

/** Hands the sealed group over. */
async function handOver(): Promise<void> {
  expect(await move.giveUp(SEALED)).toBe(true)
  await move.beginAtTarget(SEALED)
}

/** Hands the sealed group over at a look at the catalog of its shard, after this many sleeps. */
function handOverDuringWait(afterSleeps = 3): void {
  let isDone = false
  plan = ({ table, operation, shard }) => {
    if (isDone || table !== 'catalog' || operation !== 'load' || shard !== 0 || sleeps.length < afterSleeps)
      return undefined
    isDone = true
    return { before: handOver }
  }
}

test('a write of a sealed bucket waits, and lands on the new shard of the bucket', async () => {
  await move.seal(SEALED)
  handOverDuringWait()
  await store.put({ mail: 'ada' }, { id })
  expect(await shardsWith(id)).toEqual([1])
  // The seal was there before the first attempt, or refused it.
  expect(countOf('entities insert 1')).toBe(1)
})

test('an observer is told how long a write has waited for a sealed bucket', async () => {
  await store.put({ mail: 'before' }, { id: otherId })
  await move.seal(SEALED)
  await store.put({ mail: 'ada' }, { id })
  expect(waits).toEqual([['memory 0', sleeps.reduce((sum, milliseconds) => sum + milliseconds, 0)]])
})

test('writes of other buckets of the shard go on at once while a bucket is sealed', async () => {
  await store.put({ mail: 'before' })
  await move.seal(SEALED)
  const order: string[] = []
  const sealedPut = store.put({ mail: 'ada' }, { id }).then(() => order.push('sealed'))
  // Both are refused by one statement, because the process does not know the seal.
  await store.put({ mail: 'bob' }, { id: otherId }).then(() => order.push('other'))
  expect(order).toEqual(['other'])
  expect(await isSealed()).toBe(true)
  await handOver()
  await sealedPut
  expect(order).toEqual(['other', 'sealed'])
  expect([await shardsWith(id), await shardsWith(otherId)]).toEqual([[1], [0]])
  await store.put({ mail: 'eve' }, { id: otherId })
})

test('all writes that wait for a shard share the looks at its catalog, and those that were refused share a reading', async () => {
  await store.put({ mail: 'before' }, { id: otherId })
  await move.seal(SEALED)
  calls = []
  sleeps = []
  handOverDuringWait()
  const ids = Array.from({ length: 30 }, () => idIn((bucket) => bucket < 100))
  await Promise.all(ids.map((each, i) => store.put({ rank: i }, { id: each })))
  // Their reads were two statements, each checked by a look. So their commits may be two as well.
  expect(countOf('entities floor 0')).toBeLessThanOrEqual(4)
  expect(countOf('catalog load 0')).toBeLessThanOrEqual(sleeps.length + 6)
  expect(countOf('catalog load 1')).toBeLessThanOrEqual(6)
})

test('the seal of a mover that has died is taken away after a second, and not before', async () => {
  await move.seal(SEALED)
  const begin = now
  const brokenAfter: number[] = []
  plan = ({ table, operation }) => {
    if (table !== 'catalog' || operation !== 'change') return undefined
    brokenAfter.push(now - begin)
    // The looks at the catalog wait for it.
    return { before: () => new Promise((resolve) => setTimeout(resolve, 20)) }
  }
  await Promise.all([
    store.put({ mail: 'ada' }, { id }),
    store.put({ mail: 'bob' }, { id: idIn((bucket) => bucket < 100) }),
  ])
  expect(brokenAfter).toEqual([1_000])
  expect([await isSealed(), await shardsWith(id)]).toEqual([false, [0]])
  // The mover comes back: its seal is gone, so it gives nothing up.
  expect(await move.giveUp(SEALED)).toBe(false)
  await move.seal(SEALED)
  await handOver()
  expect(await store.get(id)).toMatchObject({ mail: 'ada' })
})

/** Returns the milliseconds that a write takes while a mover seals another group twice, and the number of seals. */
async function beyondSeals(write: () => Promise<unknown>): Promise<[seals: number, milliseconds: number]> {
  await move.seal(SEALED)
  const begin = now
  let seals = 1
  plan = ({ table, operation, shard }) => {
    if (table !== 'catalog' || operation !== 'load' || shard !== 0) return undefined
    // The epoch changes, and the bucket stays sealed.
    if (seals > 2 || now - begin < seals * 300) return undefined
    seals++
    return { before: () => move.seal(SEALED) }
  }
  await write()
  return [seals, now - begin]
}

test('a write that has waited for a second in all waits no longer for the next seal', async () => {
  expect(await beyondSeals(() => store.put({ mail: 'ada' }, { id }))).toEqual([3, 1_000])
})

test('a batch that has waited for a second in all waits no longer for the next seal', async () => {
  expect(await beyondSeals(() => store.batch([{ put: { mail: 'ada' }, id }]))).toEqual([3, 1_000])
})

test('a signal ends the wait for a sealed bucket, and nothing is written', async () => {
  await move.seal(SEALED)
  const controller = new AbortController()
  plan = ({ table, operation }) => {
    if (table === 'catalog' && operation === 'load' && sleeps.length === 5) controller.abort()
    return undefined
  }
  await expect(store.put({ mail: 'ada' }, { id, signal: controller.signal })).rejects.toMatchObject({
    code: 'ABORTED',
  })
  expect([await isSealed(), await shardsWith(id)]).toEqual([true, []])
})

test('the wait for a sealed bucket counts towards writeTimeoutMs, whose end leaves the seal alone', async () => {
  await store.close()
  store = await open({ writeTimeoutMs: 100 })
  await move.seal(SEALED)
  await store.context.catalog.reload()
  const begin = now
  await expect(store.put({ mail: 'ada' }, { id })).rejects.toMatchObject({
    code: 'DEADLINE',
    retryable: true,
    unknownOutcome: false,
    shard: 'memory 0',
    message: `Entity ${id}: its bucket was being moved to another shard during all of writeTimeoutMs, and nothing was written. If this lasts, run \`looseleaf shard repair\`, which names the reason.`,
  })
  expect(now - begin).toBe(100)
  expect([await isSealed(), await shardsWith(id)]).toEqual([true, []])
})

test('close waits for a write of a sealed bucket', async () => {
  await move.seal(SEALED)
  const order: string[] = []
  const put = store.put({ mail: 'ada' }, { id }).then(() => order.push('put'))
  const closed = store.close().then(() => order.push('closed'))
  await Promise.all([put, closed])
  expect(order).toEqual(['put', 'closed'])
  expect(await shardsWith(id)).toEqual([0])
})

test('the next write begins a bucket at its new shard if the mover has died after giving it up', async () => {
  await store.put({ mail: 'ada', rank: 1 }, { id })
  await move.seal(SEALED)
  await move.giveUp(SEALED)
  await Promise.all([
    store.update(id, (bag) => ({ ...bag, rank: 2 })),
    store.put({ mail: 'bob' }, { id: idIn((bucket) => bucket < 100) }),
  ])
  expect((await memory.shards[1]!.catalog.load())!.serves!.owns).toBe('0-99,2048-4095')
  const fresh = await open()
  expect(await fresh.get(id)).toMatchObject({ mail: 'ada', rank: 2 })
  await fresh.close()
})

test.each([
  ['the old shard', 0],
  ['the new shard', 1],
] as const)(
  'a write of a bucket that nobody serves is retryable while %s does not answer',
  async (_, down) => {
    await move.seal(SEALED)
    await move.giveUp(SEALED)
    await store.context.catalog.reload()
    plan = ({ table, shard }) =>
      table === 'catalog' && shard === down
        ? {
            before() {
              throw new LooseleafError('SHARD_UNAVAILABLE', 'It is down.', { shard: `memory ${down}` })
            },
          }
        : undefined
    await expect(store.put({ mail: 'ada' }, { id })).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      shard: `memory ${down}`,
      retryable: true,
    })
    plan = () => undefined
    await store.put({ mail: 'ada' }, { id })
    expect(await shardsWith(id)).toEqual([1])
  },
)

test('a write of a bucket whose hand-over was undone by a crash goes to the old shard again', async () => {
  const before = (await memory.shards[0]!.catalog.load())!
  await move.seal(SEALED)
  await move.giveUp(SEALED)
  await store.context.catalog.reload()
  const { epoch } = (await memory.shards[0]!.catalog.load())!
  await memory.shards[0]!.catalog.change(before, epoch)
  await store.put({ mail: 'ada' }, { id })
  expect(await shardsWith(id)).toEqual([0])
})

test('a write succeeds although its shard changes its catalog 70 times in a row', async () => {
  let changes = 0
  plan = ({ table, operation, shard }) => {
    if (table !== 'entities' || operation !== 'insert' || shard !== 0 || changes >= 70) return undefined
    changes++
    return {
      async before() {
        const catalog = (await memory.shards[0]!.catalog.load())!
        await changeServes(memory.shards[0]!, catalog, catalog.serves!)
      },
    }
  }
  await store.put({ mail: 'ada' }, { id })
  expect([changes, await shardsWith(id)]).toEqual([70, [0]])
})

test('a fence of an entity in a sealed bucket waits, and is written where the bucket is then', async () => {
  await move.seal(SEALED)
  await store.context.catalog.reload()
  handOverDuringWait()
  await fence(store.context, { id: parseId(id), version: 0 }, 5)
  expect(await shardsWith(id)).toEqual([1])
})

test('a dead claim of an entity in a sealed bucket is taken once the bucket was handed over', async () => {
  const spec = tableSpec(store.context.catalog.current().indexes.find(({ unique }) => unique === true)!)
  const key = [Buffer.from('ada')]
  const shard = store.context.router.shardOfKey(Buffer.from('ada'))
  await memory.shards[shard]!.claims(spec).take([{ key, entityId: parseId(id), version: now * 1_000 }])
  await move.seal(SEALED)
  await store.context.catalog.reload()
  // The write is patient with the claim for 250 ms first, in some 17 sleeps.
  handOverDuringWait(60)
  await store.put({ mail: 'ada' }, { id: otherId })
  expect(await shardsWith(id)).toEqual([1])
})

test('an entity whose key was given up on its new shard refuses no write of a process that does not know the hand-over', async () => {
  await store.put({ mail: 'ada' }, { id })
  await store.context.catalog.reload()
  await move.seal(SEALED)
  await handOver()
  const other = await open()
  // The claim stays, as after a crash.
  plan = ({ operation }) =>
    operation === 'remove'
      ? {
          before() {
            throw new LooseleafError('SHARD_UNAVAILABLE', 'It is down.')
          },
        }
      : undefined
  await other.put({ mail: 'eve' }, { id })
  await other.close()
  plan = () => undefined
  await store.put({ mail: 'ada' }, { id: otherId })
  await expect(store.put({ mail: 'eve' }, { id: otherId })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
})

test('the version of an entity is not repaired while its bucket is being moved', async () => {
  await expect(repairVersion(store.context, id)).rejects.toMatchObject({
    code: 'CONFLICT',
    retryable: true,
    message: `Entity ${id} is being moved to another shard. Repair it when the move has ended.`,
  })
  expect(
    await repairVersion(
      store.context,
      idIn((bucket) => bucket >= 2048),
    ),
  ).toBe(false)
})
