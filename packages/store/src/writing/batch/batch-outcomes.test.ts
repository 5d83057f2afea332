import { LooseleafError, parseId, type Bag, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { shardsOfRow } from '@looseleaf/index-engine/internal'
import { bucketOfId } from '@looseleaf/router'
import {
  faultyDriver,
  keepOpen,
  unknownOutcome,
  withoutPauses,
  type Fault,
  type FaultyCall,
} from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'
import { handOverOf } from '../../../test/hand-over.ts'
import type { BatchUpdate } from './batch-item.ts'

const byTag = defineIndex('by_tag', { properties: { tag: 'string' }, shardOn: 'tag' })

let memory: Driver
/** Faults of the commits of batches, in their order. */
let faults: Fault[]
/** Fault of every other call. */
let plan: (call: FaultyCall) => Fault | undefined
let commits: number
let store: DataStore
/** Another process, without faults. */
let rival: DataStore
let a: EntityId
let b: EntityId

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  faults = []
  plan = () => undefined
  commits = 0
  store = await open()
  rival = await DataStore.open({ shards: keepOpen(memory), indexes: [byTag] })
  // On the shard whose buckets `handOverOf` moves.
  do a = store.newId()
  while (bucketOfId(parseId(a)) >= 2048)
  b = store.newId({ near: a })
  await rival.insert({ cents: 100 }, { id: a })
  await rival.insert({ cents: 50 }, { id: b })
})
afterEach(async () => {
  await store.close()
  await rival.close()
  await memory.close()
})

function open(
  options: { onIndexFailure?: 'defer'; writeTimeoutMs?: number; writeOrder?: 'entity-first' } = {},
): Promise<DataStore> {
  const driver = faultyDriver(memory, (call) => {
    if (call.operation !== 'writeAll') return plan(call)
    commits++
    return faults.shift()
  })
  return DataStore.open({
    shards: keepOpen(driver),
    indexes: [byTag],
    migrate: true,
    time: withoutPauses,
    ...options,
  })
}

const pay = (of: EntityId, cents: number): BatchUpdate => ({
  update: of,
  edit: (bag: Bag) => ({ ...bag, cents: Number(bag['cents']) + cents }),
})
const transfer = () => store.batch([pay(a, -1), pay(b, 1)])

async function centsOf(...ids: readonly EntityId[]): Promise<unknown[]> {
  return (await rival.getMany(ids)).map((entity) => entity?.['cents'])
}

const lostAnswer: Fault = {
  after() {
    throw unknownOutcome()
  },
}
const lostRequest: Fault = {
  before() {
    throw unknownOutcome()
  },
}

describe('a batch whose answer is lost', () => {
  test('a batch that was committed resolves, and takes place once', async () => {
    faults = [lostAnswer]
    const [from, to] = await transfer()
    expect(commits).toBe(1)
    expect(await centsOf(a, b)).toEqual([99, 51])
    expect(await rival.put({ cents: 0 }, { id: a, ifVersion: from.version })).toMatchObject({ id: a })
    expect(to.version).toBe(from.version)
  })

  test('a batch that was not committed is retried from the same versions, and takes place once', async () => {
    faults = [lostRequest, lostRequest, lostAnswer]
    await transfer()
    expect(commits).toBe(3)
    expect(await centsOf(a, b)).toEqual([99, 51])
  })

  test('a commit that lands before the retry is found, and one that lands after it has lost', async () => {
    const landing = Promise.withResolvers<void>()
    faults = [{ late: landing.promise }, { before: async () => landing.resolve() }]
    await transfer()
    expect(await centsOf(a, b)).toEqual([99, 51])
    const late = Promise.withResolvers<void>()
    faults = [{ late: late.promise }]
    await transfer()
    late.resolve()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await centsOf(a, b)).toEqual([98, 52])
  })

  test('a batch of inserts and deletes is found by any of its entities', async () => {
    const [c, d] = [store.newId({ near: a }), store.newId({ near: a })]
    faults = [
      {
        async after() {
          await rival.put({ cents: 7 }, { id: c })
          throw unknownOutcome()
        },
      },
    ]
    const [, , deleted] = await store.batch([
      { insert: { cents: 1 }, id: c },
      { insert: { cents: 2 }, id: d },
      { delete: b },
    ])
    expect(deleted).toBe(true)
    expect(commits).toBe(1)
    expect(await centsOf(b, c, d)).toEqual([undefined, 7, 2])
  })

  test('another write of one entity refutes the attempt while the other has its base, and the batch is retried', async () => {
    faults = [
      {
        async before() {
          await rival.put({ cents: 200 }, { id: a })
          throw unknownOutcome()
        },
      },
    ]
    await transfer()
    expect(commits).toBe(2)
    expect(await centsOf(a, b)).toEqual([199, 51])
  })

  test('a refuted attempt leaves a definite error', async () => {
    const { version } = await rival.put({ cents: 100 }, { id: a })
    faults = [
      {
        async before() {
          await rival.put({ cents: 200 }, { id: a })
          throw unknownOutcome()
        },
      },
    ]
    await expect(store.batch([{ ...pay(a, -1), ifVersion: version }, pay(b, 1)])).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      unknownOutcome: false,
      item: 0,
    })
    expect(await centsOf(a, b)).toEqual([200, 50])
  })

  test('writes of all entities since make the outcome unknown, and the error says what to read', async () => {
    faults = [
      {
        async after() {
          await rival.put({ cents: 1 }, { id: a })
          await rival.put({ cents: 2 }, { id: b })
          throw unknownOutcome()
        },
      },
    ]
    const batch = transfer()
    await expect(batch).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      entity: a,
      retryable: false,
      unknownOutcome: true,
      cause: { code: 'CONFLICT' },
    })
    await expect(batch).rejects.toThrow(`Read entity ${a} before you try again`)
    await expect(batch).rejects.toThrow(/as version \d+: all of them, or none/)
    expect(commits).toBe(1)
  })

  test('a batch that sets values with versions is retryable after OUTCOME_UNKNOWN', async () => {
    const { version } = await rival.put({ cents: 100 }, { id: a })
    faults = [lostAnswer]
    plan = ({ operation, table }) =>
      operation === 'readVersions' && table === 'entities'
        ? {
            before() {
              throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
            },
          }
        : undefined
    const items = [{ put: { cents: 1 }, id: a, ifVersion: version }, { delete: b }] as const
    await expect(store.batch(items)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: true })
    plan = () => undefined
    await expect(store.batch(items)).rejects.toMatchObject({ code: 'VERSION_MISMATCH', item: 0 })
    expect(await centsOf(a, b)).toEqual([1, undefined])
  })

  test('an error after a lost answer does not deny the batch', async () => {
    faults = [lostRequest]
    let reads = 0
    const failing: BatchUpdate = {
      update: b,
      edit(bag) {
        if (++reads > 1) throw new Error('thought better of it')
        return { ...bag }
      },
    }
    await expect(store.batch([pay(a, 1), failing])).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  })
})

describe('a batch is retried', () => {
  test('a batch is retried after a deadlock', async () => {
    const deadlock: Fault = {
      before() {
        throw new LooseleafError('SHARD_BUSY', 'A deadlock (a fault on purpose).', { undone: true })
      },
    }
    faults = [deadlock, deadlock]
    await transfer()
    expect([commits, ...(await centsOf(a, b))]).toEqual([3, 99, 51])
  })

  test('a batch is retried after another write, from the versions that it finds then', async () => {
    faults = [{ before: async () => void (await rival.put({ cents: 10 }, { id: b })) }]
    await transfer()
    expect([commits, ...(await centsOf(a, b))]).toEqual([2, 99, 11])
  })

  test('a batch is retried after a change of the catalog, and its entities have rows in the new index', async () => {
    const byCents = defineIndex('by_cents', { properties: { cents: 'integer' }, shardOn: 'cents' })
    faults = [{ before: async () => void (await rival.addIndex(byCents)) }]
    await transfer()
    expect(commits).toBe(2)
    const { indexes } = await rival.status()
    const { table } = indexes.find(({ name }) => name === 'by_cents')!
    const rows = await Promise.all(
      memory.shards.map((shard) =>
        shard
          .index({ table, columns: [{ name: 'cents', type: 'integer' }] })
          .scan({ prefix: [], order: 'asc', limit: 10 }),
      ),
    )
    expect(rows.flat().map(({ key }) => key[0])).toEqual(expect.arrayContaining([99n, 51n]))
  })

  test('a batch of a sealed bucket waits, and takes place on the new shard', async () => {
    const move = handOverOf(memory)
    await move.begin()
    await move.seal('0-2047')
    faults = [
      {
        async before() {
          expect(await move.giveUp('0-2047')).toBe(true)
          await move.beginAtTarget('0-2047')
        },
      },
    ]
    await transfer()
    expect(commits).toBe(2)
    // The other process may read the old shard for a moment.
    expect(await store.getMany([a, b])).toMatchObject([{ cents: 99 }, { cents: 51 }])
    const versions = await memory.shards[1]!.entities.readVersions([parseId(a), parseId(b)])
    expect(new Set(versions)).toEqual(new Set([expect.any(Number)]))
  })

  test('a batch that loses every race is CONFLICT, and names the entity of the others', async () => {
    faults = Array.from({ length: 100 }, () => ({
      before: async () => void (await rival.put({ cents: 10 }, { id: b })),
    }))
    const batch = transfer()
    await expect(batch).rejects.toMatchObject({ code: 'CONFLICT', item: 1, entity: b, retryable: true })
    expect(await centsOf(a)).toEqual([100])
  })

  test('a batch that a deadlock undoes until writeTimeoutMs is DEADLINE with its cause', async () => {
    await store.close()
    store = await open({ writeTimeoutMs: 1 })
    faults = Array.from({ length: 10_000 }, () => ({
      before() {
        throw new LooseleafError('SHARD_BUSY', 'A deadlock (a fault on purpose).', { undone: true })
      },
    }))
    await expect(transfer()).rejects.toMatchObject({
      code: 'DEADLINE',
      cause: { code: 'SHARD_BUSY' },
    })
  })
})

describe('index rows of a batch on a shard that is down', () => {
  /** Returns a tag whose row is on the other shard. */
  function farTag(): string {
    const { placement, indexes } = store.context.catalog.current()
    for (let i = 0; ; i++)
      if (shardsOfRow(indexes[0]!, placement, [Buffer.from(`${i}`)], parseId(b))[0] !== 0) return `${i}`
  }

  /** The shard of the rows is down for index rows alone. */
  function rowsDown({ table }: FaultyCall): Fault | undefined {
    if (!table.startsWith('index_')) return undefined
    return {
      before() {
        throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
      },
    }
  }

  test('a batch whose far rows cannot be written names the item, and writes nothing', async () => {
    plan = rowsDown
    await expect(store.batch([pay(a, 1), { put: { cents: 1, tag: farTag() }, id: b }])).rejects.toMatchObject(
      {
        code: 'SHARD_UNAVAILABLE',
        item: 1,
        unknownOutcome: false,
      },
    )
    expect([commits, ...(await centsOf(a, b))]).toEqual([0, 100, 50])
    // The entities without rows there are written.
    await transfer()
    expect(await centsOf(a, b)).toEqual([99, 51])
  })

  test('a batch with onIndexFailure defer commits its entities with pending rows', async () => {
    await store.setPolicies({ onIndexFailure: 'defer' })
    plan = rowsDown
    const [, put] = await store.batch([pay(a, 1), { put: { cents: 1, tag: farTag() }, id: b }])
    expect(put.indexed).toBe(false)
    const pending = await memory.shards[0]!.pending.page({ limit: 10 })
    expect(pending.map(({ entityId }) => Buffer.compare(entityId, parseId(b)))).toEqual([0])
  })

  test('a batch with entity-first commits its entities, and then writes their rows', async () => {
    await store.close()
    store = await open({ writeOrder: 'entity-first' })
    const tag = farTag()
    const [, put] = await store.batch([pay(a, 1), { put: { cents: 1, tag }, id: b }])
    expect(put.indexed).toBe(true)
    expect((await rival.query(byTag, { tag })).items).toMatchObject([{ id: b }])
  })
})

test('the rows of an attempt that has lost are deleted behind the one that wins', async () => {
  let tag = 0
  const edit = (bag: Bag): Bag => ({ ...bag, tag: `tag ${tag++}` })
  faults = [{ before: async () => void (await rival.put({ cents: 10 }, { id: b })) }]
  await store.batch([{ update: a, edit }, pay(b, 1)])
  await store.settled()
  const { indexes } = await rival.status()
  const rows = await Promise.all(
    memory.shards.map((shard) =>
      shard
        .index({ table: indexes[0]!.table, columns: [{ name: 'tag', type: 'string' }] })
        .scan({ prefix: [], order: 'asc', limit: 10 }),
    ),
  )
  expect(rows.flat().map(({ key }) => Buffer.from(key[0] as Uint8Array).toString())).toEqual(['tag 1'])
})
