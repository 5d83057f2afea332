import { parseId, type Driver, type EntityId, type Time } from '@looseleaf/core'
import type { EntityRow, LayoutMove, ShardServes } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents, changeServes } from '@looseleaf/index-engine/internal'
import { beforeAsking } from '@looseleaf/protocol/internal'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { NOTICE_MS } from '../../catalog/catalog-watch.ts'
import { DataStore } from '../../data-store.ts'
import { unchanged } from '../../unchanged.ts'

// All buckets of shard 0 move to shard 1, step by step, beside a reader that finds out by itself.

const byName = defineIndex('by_name', {
  properties: { name: 'string' },
  shardOn: 'name',
  include: ['n'],
})

let memory: Driver
let plan: FaultPlan
let reader: DataStore
let writer: DataStore
/** On shard 0 by the first layout. */
let id: EntityId
let sent: string[]
let elapsed: number
let open: DataStore[]

const time: Time = {
  now: () => Date.now() + elapsed,
  elapsed: () => performance.now() + elapsed,
  async sleep() {
    await new Promise((resolve) => setImmediate(resolve))
  },
}

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  plan = () => undefined
  sent = []
  elapsed = 0
  open = []
  writer = await openStore(memory, { migrate: true, indexes: [byName] })
  reader = await openStore(
    faultyDriver(memory, (call) => {
      if (call.table === 'entities') sent.push(`${call.operation} ${call.shard}`)
      return plan(call)
    }),
  )
  id = idOn(writer, 0)
  await writer.put({ name: 'ada', n: 1 }, { id })
})
afterEach(async () => {
  await Promise.all(open.map((store) => store.close()))
  await memory.close()
})

async function openStore(driver: Driver, options: object = {}): Promise<DataStore> {
  const store = await DataStore.open({ shards: keepOpen(driver), time, ...options })
  open.push(store)
  return store
}

async function announce(phase: LayoutMove['phase'] | undefined): Promise<void> {
  await changeCatalogContents(memory, ({ layout, ...contents }) => {
    const moves = phase === undefined ? [] : [{ id: 1, from: 0, to: 1, buckets: '0-2047', phase }]
    return { ...contents, layout: { ...layout!, revision: layout!.revision + 1, moves } }
  })
}

async function change(number: number, serves: ShardServes): Promise<void> {
  const shard = memory.shards[number]!
  for (;;) if (await changeServes(shard, (await shard.catalog.load())!, serves)) return
}

const motion = { move: 1, attempt: 1, buckets: '0-2047' }
const leave = (): Promise<void> =>
  change(0, { owns: '0-2047', leaving: [{ ...motion, to: 1, sealed: '0-2047' }] })
const giveUp = (): Promise<void> => change(0, { owns: '', away: [{ ...motion, to: 1, end: 1 }] })
const begin = (): Promise<void> =>
  change(1, { owns: '0-4095', arrived: [{ ...motion, from: 0, afterAddedId: 0, end: 1, begin: 2 }] })

/** Copies the entities of shard 0 to shard 1. */
async function copy(): Promise<void> {
  const [from, to] = memory.shards
  const { epoch } = (await to!.catalog.load())!
  const page = await from!.entities.pageByAdded(0, 500, { maxBody: 1_000_000 })
  const rows = page as readonly EntityRow[]
  if (rows.length > 0) await to!.entities.receive(rows, { epoch, updated: await to!.entities.raiseFloor() })
}

/** Moves the buckets whole, and empties the old place. */
async function move(): Promise<void> {
  await announce('both')
  elapsed += NOTICE_MS
  await leave()
  await copy()
  await giveUp()
  await begin()
  await announce('target')
  await announce(undefined)
  const { epoch } = (await memory.shards[0]!.catalog.load())!
  await memory.shards[0]!.entities.discard([parseId(id)], { epoch })
}

const reads: readonly (readonly [string, (n: number) => Promise<void>])[] = [
  ['get', async (n) => void expect(await reader.get(id)).toMatchObject({ n })],
  ['getMany', async (n) => void expect(await reader.getMany([id, id])).toMatchObject([{ n }, { n }])],
  ['exists', async () => void expect(await reader.exists(id)).toBe(true)],
  [
    'query',
    async (n) => void expect((await reader.query(byName, { name: 'ada' })).items).toMatchObject([{ n }]),
  ],
  [
    'list',
    async (n) => void expect((await reader.list(byName, { name: 'ada' })).items).toMatchObject([{ n }]),
  ],
  ['count', async () => void expect(await reader.count(byName, { name: 'ada' })).toBe(1)],
]

describe('a process that slept through a move', () => {
  test.each(reads)('%s reads the state at the new owner', async (_, read) => {
    await read(1)
    await move()
    await writer.update(id, (bag) => ({ ...bag, n: 2 }))
    elapsed += 60_000
    await expect(read(2)).resolves.toBeUndefined()
  })

  test('an insert finds the entity at the new owner', async () => {
    await move()
    elapsed += 60_000
    await expect(reader.insert({ n: 3 }, { id })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
  })

  test('an update that writes nothing returns the version at the new owner', async () => {
    await reader.get(id)
    await move()
    const { version } = await writer.update(id, (bag) => ({ ...bag, n: 2 }))
    elapsed += 60_000
    const found = await reader.update(id, () => unchanged)
    expect(found.version).toBe(version)
  })
})

describe('a read that is sent before a step of a move and answered after it', () => {
  test.each(reads)('%s asks the new owner again', async (_, read) => {
    await announce('both')
    await reader.context.catalog.reload()
    await leave()
    await copy()
    let isMoved = false
    const step = async (): Promise<void> => {
      if (isMoved) return
      isMoved = true
      await giveUp()
      await begin()
      await writer.context.catalog.reload()
      await writer.update(id, (bag) => ({ ...bag, n: 2 }))
    }
    plan = ({ table, shard, operation }) =>
      table === 'entities' && shard === 0 && operation !== 'floor' ? { after: step } : undefined
    await expect(read(2)).resolves.toBeUndefined()
  })
})

describe('a bucket that one shard has given up, and no shard serves', () => {
  test.each(reads)('%s waits until the new shard begins', async (_, read) => {
    await announce('both')
    await leave()
    await copy()
    await giveUp()
    await reader.context.catalog.reload()
    let loads = 0
    plan = ({ operation, shard }) =>
      operation === 'load' && shard === 1 && ++loads === 3 ? { before: begin } : undefined
    await read(1)
    expect(loads).toBeGreaterThanOrEqual(3)
  })

  test('a read rejects while the new shard does not begin, after as many looks for many entities as for one', async () => {
    const ids = Array.from({ length: 10 }, () => writer.newId({ near: id }))
    await announce('both')
    await leave()
    await giveUp()
    await reader.context.catalog.reload()
    const looksOf = async (...some: readonly EntityId[]): Promise<number> => {
      let looks = 0
      plan = ({ operation }) => void (operation === 'load' && looks++)
      await expect(reader.getMany(some)).rejects.toMatchObject({ code: 'SHARD_BUSY', retryable: true })
      return looks
    }
    expect(await looksOf(id, ...ids)).toBeLessThan(2 * (await looksOf(id)))
  })
})

describe('the statements of reads', () => {
  test('reads look at their shard once in two seconds while no move is announced', async () => {
    await reader.get(id)
    sent = []
    for (let second = 0; second < 6; second++) {
      await Promise.all([reader.get(id), reader.exists(id), reader.getMany([id])])
      elapsed += 1_000
    }
    expect(sent.filter((each) => each === 'floor 0')).toHaveLength(2)
    expect(sent.filter((each) => each === 'floor 1')).toHaveLength(0)
  })

  test('reads that are answered together share one look while a move of their shard is announced', async () => {
    await announce('both')
    await reader.context.catalog.reload()
    await reader.get(id)
    sent = []
    await Promise.all(Array.from({ length: 20 }, () => reader.get(id)))
    expect(sent).toEqual(['readBounded 0', 'floor 0'])
  })

  test('a search for the owners of served entities sends no statement', async () => {
    const { catalog } = reader.context
    let statements = 0
    plan = () => void statements++
    expect(await beforeAsking(reader.context, [parseId(id)], 0, {})).toBe(catalog.current())
    expect(statements).toBe(0)
  })

  test('a search for the owners of entities pauses before its third statement, and longer each time', async () => {
    const pauses: number[] = []
    const sleep = async (ms: number): Promise<void> => void pauses.push(ms)
    const context = { ...reader.context, time: { ...reader.context.time, sleep } }
    for (const tries of [0, 1, 2, 3, 4]) await beforeAsking(context, [parseId(id)], tries, {})
    expect(pauses).toEqual([2, 4, 8])
  })

  test('a read that is answered long after its look is checked', async () => {
    await reader.get(id)
    await announce('both')
    // The answer arrives when the move is over.
    plan = ({ operation, shard }) =>
      operation === 'read' && shard === 0
        ? {
            async after() {
              plan = () => undefined
              await move()
              await writer.update(id, (bag) => ({ ...bag, n: 2 }))
            },
          }
        : undefined
    expect(await reader.get(id)).toMatchObject({ n: 2 })
  })
})

describe('an answer while a move of its shard is announced', () => {
  beforeEach(async () => {
    await announce('both')
    await reader.context.catalog.reload()
    await leave()
    await copy()
    await reader.context.catalog.reload()
  })

  test('an answer is not checked by a look that began before it', async () => {
    const looked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    let floors = 0
    plan = ({ operation, shard }) => {
      if (shard !== 0) return undefined
      // The first look sees the old owner, and is answered when the read has missed a write at the new one.
      if (operation === 'floor' && ++floors === 1)
        return {
          async after() {
            looked.resolve()
            await answered.promise
          },
        }
      if (operation === 'read')
        return {
          async before() {
            await looked.promise
            plan = () => undefined
            await giveUp()
            await begin()
            await writer.context.catalog.reload()
            await writer.update(id, (bag) => ({ ...bag, n: 2 }))
          },
          after: () => answered.resolve(),
        }
      return undefined
    }
    elapsed += NOTICE_MS
    expect(await reader.get(id)).toMatchObject({ n: 2 })
  })

  test('an answer does not count if its bucket left its shard and came back in between', async () => {
    plan = ({ operation, shard }) =>
      operation === 'read' && shard === 0
        ? {
            async after() {
              plan = () => undefined
              await giveUp()
              await begin()
              await writer.context.catalog.reload()
              await writer.update(id, (bag) => ({ ...bag, n: 2 }))
              await comeBack()
            },
          }
        : undefined
    expect(await reader.get(id)).toMatchObject({ n: 2 })
  })
})

/** Moves the buckets from shard 1 back to shard 0. */
async function comeBack(): Promise<void> {
  const back = { ...motion, move: 2 }
  const [target, source] = memory.shards
  await change(1, { owns: '2048-4095', away: [{ ...back, to: 0, end: 1 }] })
  const rows = await source!.entities.read([parseId(id)])
  const { epoch } = (await target!.catalog.load())!
  await target!.entities.receive(rows as readonly EntityRow[], {
    epoch,
    updated: await target!.entities.raiseFloor(),
  })
  await change(0, { owns: '0-2047', arrived: [{ ...back, from: 1, afterAddedId: 0, end: 1, begin: 2 }] })
}
