import { parseId, type Bag, type Driver, type EntityId, type LooseleafError } from '@looseleaf/core'
import type { BatchRow } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { bucketOfId } from '@looseleaf/router'
import { faultyDriver, keepOpen, unknownOutcome, type Fault, type FaultyCall } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { handOverOf } from '../../../test/hand-over.ts'
import { DataStore } from '../../data-store.ts'
import { prepared, type BatchUpdate, type BatchWrite } from './batch-item.ts'

const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })

let memory: Driver
let store: DataStore
let plan: (call: FaultyCall) => Fault | undefined
let a: EntityId
let b: EntityId

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  plan = () => undefined
  store = await DataStore.open({
    shards: keepOpen(faultyDriver(memory, (call) => plan(call))),
    indexes: [byMail],
    migrate: true,
    time: leapingTime(),
    writeTimeoutMs: 100,
  })
  // On the shard whose buckets `handOverOf` moves.
  do a = store.newId()
  while (bucketOfId(parseId(a)) >= 2_048)
  b = store.newId({ near: a })
  await store.insert({ n: 1, mail: 'a' }, { id: a })
  await store.insert({ n: 1, mail: 'b' }, { id: b })
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

const count = (of: EntityId): BatchUpdate => ({
  update: of,
  edit: (bag: Bag) => ({ ...bag, n: Number(bag['n']) + 1 }),
})

/** A write of a kind that puts this mail, and removes what is in its way. */
function saved(id: EntityId, mail: string, obstacles: unknown[]): BatchWrite<unknown> {
  return {
    [prepared]: {
      name: 'save',
      id,
      near: undefined,
      ifVersion: undefined,
      addsUp: false,
      ready: () => undefined,
      begin: () => ({ edit: () => ({ mail }), resultOf: () => 'saved' }),
      async removesObstacle(error) {
        obstacles.push(error)
        const { holder } = error as LooseleafError
        return holder !== undefined && store.delete(holder as EntityId)
      },
    },
  }
}

test('a batch whose answer is lost is found at the end of its time, although its bucket is sealed by then', async () => {
  const move = handOverOf(memory)
  await move.begin()
  let isSent = false
  plan = ({ operation }) => {
    if (operation !== 'writeAll' || isSent) return undefined
    isSent = true
    return {
      async after() {
        await move.seal('0-2047')
        await store.context.catalog.reload()
        // Another process renews the seal whenever a write takes it away.
        plan = (call) =>
          call.operation === 'change' && call.shard === 0 ? { after: () => move.seal('0-2047') } : undefined
        throw unknownOutcome()
      },
    }
  }
  expect(await store.batch([count(a), count(b)])).toHaveLength(2)
  expect(await store.getMany([a, b])).toMatchObject([{ n: 2 }, { n: 2 }])
})

test('a batch whose answer is lost is found on the shard to which its bucket has moved since', async () => {
  const rival = await DataStore.open({ shards: keepOpen(memory), indexes: [byMail] })
  const move = handOverOf(memory)
  await move.begin()
  await store.context.catalog.reload()
  let commits = 0
  plan = ({ operation }) =>
    operation === 'writeAll' && commits++ === 0
      ? {
          async after() {
            await move.seal('0-2047')
            expect(await move.giveUp('0-2047')).toBe(true)
            await move.beginAtTarget('0-2047')
            // The old shard still has the version of the batch for both.
            await rival.update(a, (bag) => ({ ...bag, n: 70 }))
            throw unknownOutcome()
          },
        }
      : undefined
  await store.batch([count(a), count(b)])
  expect([commits, ...(await store.getMany([a, b])).map((entity) => entity?.['n'])]).toEqual([1, 70, 2])
  await rival.close()
})

test('an entity that another process has written with the version of a lost attempt refutes the attempt', async () => {
  let commits = 0
  plan = ({ operation, args }) => {
    if (operation !== 'writeAll' || commits++ > 0) return undefined
    const [{ id, base, version }] = args[0] as [BatchRow & { readonly version: number }]
    const body = store.context.codec.encode({ n: 70 })
    return {
      async before() {
        const { epoch } = (await memory.shards[0]!.catalog.load())!
        const written = await memory.shards[0]!.entities.replace([{ id, base, version, body }], { epoch })
        expect(written).toEqual([true])
        throw unknownOutcome()
      },
    }
  }
  await store.batch([count(a), count(b)])
  expect(commits).toBe(2)
  expect(await store.getMany([a, b])).toMatchObject([{ n: 71 }, { n: 2 }])
})

test('a write of a kind removes the holder of its key, and the batch is made again', async () => {
  const { id: holder } = await store.insert({ mail: 'taken' })
  const obstacles: unknown[] = []
  expect(await store.batch([count(a), saved(b, 'taken', obstacles)])).toEqual([
    expect.objectContaining({ id: a }),
    'saved',
  ])
  expect(obstacles).toEqual([expect.objectContaining({ code: 'DUPLICATE_KEY', holder })])
  expect(await store.getMany([a, b, holder])).toMatchObject([{ n: 2 }, { mail: 'taken' }, undefined])
})

test('once a write of a kind has removed the obstacle, no other one is asked', async () => {
  await store.insert({ mail: 'taken' })
  const [first, second]: unknown[][] = [[], []]
  const batch = store.batch([saved(a, 'taken', first!), saved(b, 'free', second!)])
  expect(await batch).toEqual(['saved', 'saved'])
  expect([first!.length, second!.length]).toEqual([1, 0])
})

test('a holder that is in the batch is no obstacle that a write of a kind removes', async () => {
  const obstacles: unknown[] = []
  const batch = store.batch([saved(a, 'same', obstacles), saved(b, 'same', obstacles)])
  await expect(batch).rejects.toMatchObject({ code: 'DUPLICATE_KEY', item: 1, holder: a })
  expect(obstacles).toEqual([])
})

test('an error that no write of a kind removes ends the batch', async () => {
  const obstacles: unknown[] = []
  const missing = store.newId({ near: a })
  await expect(store.batch([count(missing), saved(b, 'new', obstacles)])).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
  expect(obstacles).toHaveLength(1)
})
