import { formatId, LooseleafError, type Bag, type ErrorCode } from '@looseleaf/core'
import type { EntityRow, IndexRow, Key } from '@looseleaf/core/internal'
import { deriveClaims, type EngineContext } from '@looseleaf/index-engine/internal'
import { catalogOf, entryOf } from '@looseleaf-tooling/kit/catalogs'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { beforeEach, describe, expect, test } from 'vitest'
import { takeKeyAt, type TakeKey } from './claims.ts'

const ENTRY = entryOf({
  properties: [{ name: 'names', type: 'string', many: true }],
  table: 'claims_by_name_1',
  unique: true,
})
const keyOf = (name: string): Key => deriveClaims(ENTRY, { names: [name] })[0]!
const KEY = keyOf('ada')
const [ID, HOLDER, THIRD] = [1, 2, 3].map((n) => Buffer.alloc(16, n)) as [Buffer, Buffer, Buffer]
const VERSION = 900

const errorOf = (code: ErrorCode): LooseleafError => new LooseleafError(code, 'No.', { shard: 'one' })
const { signal } = new AbortController()

let time: ReturnType<typeof leapingTime>
let calls: string[]
/** Answers of the table of claims, one for each try; the last one stays. */
let answers: (IndexRow | undefined)[]
/** The holder as its shard stores it; undefined if it has no row. */
let holder: EntityRow | undefined
let bags: Map<Uint8Array, Bag>
let policies: { deleteDelayMs: number }
let swap: () => Promise<boolean>
let reads: (() => void) | undefined
let beforeFence: () => void
/** Epoch of the shard. */
let epoch: number

beforeEach(() => {
  time = leapingTime()
  calls = []
  holder = undefined
  bags = new Map()
  policies = { deleteDelayMs: 0 }
  swap = async () => true
  reads = undefined
  beforeFence = () => undefined
  epoch = 5
})

/** Stores a holder with these names at this version. */
function commit(version: number, names: readonly string[], updated = 0): void {
  const body = Buffer.from(`body ${version}`)
  bags.set(body, { names: [...names] })
  holder = { id: HOLDER, version, body, updated }
}

function contextOf(): EngineContext {
  const given = (options: { readonly signal?: unknown }): void => expect(options.signal).toBe(signal)
  const entities = {
    async read(_: unknown, options: object) {
      given(options)
      calls.push('read')
      reads?.()
      return [holder]
    },
    async readVersions(_: unknown, options: object) {
      given(options)
      calls.push('versions')
      return [holder?.version]
    },
    async insert([row]: readonly EntityRow[]) {
      beforeFence()
      if (holder !== undefined) throw errorOf('ALREADY_EXISTS')
      calls.push(`insert ${row!.version}`)
      holder = row
    },
    async replace([row]: readonly EntityRow[]) {
      beforeFence()
      calls.push(`replace ${row!.version}`)
      holder = row
      return [true]
    },
  }
  const claims = {
    async swap(claim: IndexRow, { version }: IndexRow, options: object) {
      given(options)
      await Promise.resolve()
      calls.push(`swap ${claim.version} for ${version}`)
      return swap()
    },
  }
  const shard = {
    name: 'one',
    claims: () => claims,
    entities,
    flush: async () => void calls.push('flush'),
    catalog: { load: async () => (calls.push('load'), catalogOf({ epoch })) },
  }
  const current = {
    epochs: [5],
    policies,
    placement: { shardOfId: () => 0, isServed: () => true, isSealed: () => false },
  }
  return {
    router: {},
    driver: { shards: [shard, shard] },
    time,
    random: { next: () => 0.3 },
    clock: { next: (least: number) => least + 1 },
    catalog: {
      current: () => current,
      async reload() {
        await Promise.resolve()
        calls.push('reload')
        policies.deleteDelayMs = 100
      },
    },
    bodies: { decode: async (body: Uint8Array) => bags.get(body) },
  } as unknown as EngineContext
}

const claimOf = (entityId: Uint8Array, version: number): IndexRow => ({ key: KEY, entityId, version })
const OWN = claimOf(ID, VERSION)
const WANTED = { entry: ENTRY, key: KEY, entityId: ID, version: VERSION }

/** Takes the key, and returns the id of another holder. */
function take(...tried: (IndexRow | undefined)[]): Promise<Uint8Array | undefined> {
  answers = tried
  const takeOne: TakeKey = async (shard, spec, row, given) => {
    expect([shard, spec.table, row, given]).toEqual([0, ENTRY.table, OWN, signal])
    calls.push('take')
    return answers.length > 1 ? answers.shift() : answers[0]
  }
  return takeKeyAt(contextOf(), takeOne, 0, WANTED, signal)
}

describe('a key of an entity that is committed', () => {
  test('a holder with the key keeps it, whatever its stamp', async () => {
    commit(7, ['eve', 'ada'])
    for (const stamp of [6, 7, 8]) expect(await take(claimOf(HOLDER, stamp))).toBe(HOLDER)
    expect(time.slept).toBe(0)
    expect(calls).not.toContain('flush')
  })

  test.each([7, 6])('a holder that gave up the key of the stamp %i loses it at once', async (stamp) => {
    commit(7, ['eve'])
    expect(await take(claimOf(HOLDER, stamp), OWN)).toBeUndefined()
    expect(calls).toEqual([
      'take',
      'read',
      'load',
      'flush',
      'versions',
      `swap ${stamp} for ${VERSION}`,
      'take',
    ])
    expect(time.slept).toBe(0)
  })

  test('a holder whose version a crash has undone is read again', async () => {
    commit(7, ['eve'])
    reads = () => queueMicrotask(() => commit(6, ['ada']))
    expect(await take(claimOf(HOLDER, 7))).toBe(HOLDER)
    expect(calls.filter((call) => call.startsWith('swap'))).toEqual([])
  })

  test('a holder that gave its key up lately keeps it while a failover may bring that back', async () => {
    policies.deleteDelayMs = 100
    const readAt = time.now()
    commit(7, ['eve'], (readAt - 99) * 1_000)
    await expect(take(claimOf(HOLDER, 7))).rejects.toMatchObject({
      code: 'CONFLICT',
      entity: formatId(ID),
      index: 'by_name',
      holder: formatId(HOLDER),
      message: expect.stringContaining('for 100 ms (deleteDelayMs) a failover may restore that'),
    })
    commit(7, ['eve'], (readAt - 100) * 1_000)
    expect(await take(claimOf(HOLDER, 7), OWN)).toBeUndefined()
  })

  test('a delay that another process has set since counts', async () => {
    epoch = 6
    commit(7, ['eve'], time.now() * 1_000)
    await expect(take(claimOf(HOLDER, 7))).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(calls).toEqual(['take', 'read', 'load', 'reload'])
  })

  test('a swap without an answer is tried again, and one that fails rejects', async () => {
    commit(7, ['eve'])
    swap = () => Promise.reject(errorOf('OUTCOME_UNKNOWN'))
    expect(await take(claimOf(HOLDER, 7), OWN)).toBeUndefined()
    for (const error of [errorOf('SHARD_BUSY'), new TypeError('a mistake')]) {
      swap = () => Promise.reject(error)
      await expect(take(claimOf(HOLDER, 7))).rejects.toBe(error)
    }
  })
})

describe('a key of an attempt in flight', () => {
  test('an attempt has 250 ms to commit, then it is fenced above its stamp', async () => {
    commit(7, ['eve'])
    const tries = Array.from({ length: 26 }, () => claimOf(HOLDER, 8))
    expect(await take(...tries, OWN)).toBeUndefined()
    expect(time.slept).toBe(250)
    expect(calls.slice(-5)).toEqual(['read', 'read', 'replace 9', `swap 8 for ${VERSION}`, 'take'])
  })

  test('a fresh entity is fenced by a tombstone', async () => {
    expect(await take(...Array.from({ length: 26 }, () => claimOf(HOLDER, 8)), OWN)).toBeUndefined()
    expect(calls.slice(-4)).toEqual(['read', 'insert 9', `swap 8 for ${VERSION}`, 'take'])
  })

  test('an attempt that commits during the wait keeps its key', async () => {
    reads = () => {
      if (calls.length > 6) commit(8, ['ada'])
    }
    expect(await take(claimOf(HOLDER, 8))).toBe(HOLDER)
    expect(time.slept).toBe(30)
  })

  test.each([
    ['stamp', claimOf(HOLDER, 9)],
    ['holder', claimOf(THIRD, 8)],
  ])('an attempt with another %s has time of its own', async (_, second) => {
    const tries = Array.from({ length: 20 }, () => claimOf(HOLDER, 8))
    await take(...tries, ...Array.from({ length: 26 }, () => second), OWN)
    expect(time.slept).toBe(200 + 250)
  })

  test('a fence that comes too late leads to another look at the claim', async () => {
    beforeFence = () => commit(8, ['ada'])
    expect(await take(claimOf(HOLDER, 8))).toBe(HOLDER)
    expect(calls.filter((call) => call.startsWith('swap'))).toEqual([])
  })

  test('a key is not taken at once if a failover may undo the fence', async () => {
    policies.deleteDelayMs = 100
    await expect(take(claimOf(HOLDER, 8))).rejects.toMatchObject({
      code: 'CONFLICT',
      holder: formatId(HOLDER),
    })
    expect(calls.at(-1)).toBe('insert 9')
  })
})

test('a signal ends the wait for an attempt in flight', async () => {
  const controller = new AbortController()
  const takeOne: TakeKey = async () => (controller.abort(), claimOf(HOLDER, 8))
  const context = contextOf()
  Object.assign(context.driver.shards[0]!.entities, { read: async () => [undefined] })
  await expect(takeKeyAt(context, takeOne, 0, WANTED, controller.signal)).rejects.toMatchObject({
    code: 'ABORTED',
  })
})

test('a holder whose bucket has moved is read at its new shard', async () => {
  commit(6, ['ada'])
  const leftover = holder
  commit(7, ['eve'])
  const context = contextOf()
  const shard = context.driver.shards[0]!
  const shardOf = (entities: object): object => ({ ...shard, entities: { ...shard.entities, ...entities } })
  // The earlier shard still has a state with the key, and another epoch since it gave the bucket up.
  const earlier = shardOf({ read: async () => [leftover], floor: async () => ({ epoch: 6 }) })
  const later = shardOf({ floor: async () => ({ epoch: 5 }) })
  const before = { ...context.catalog.current(), epochs: [5, 5] }
  let known = before
  const moving = {
    ...context,
    router: { buckets: {} },
    events: { detached: <T>(work: () => T): T => work() },
    driver: { shards: [earlier, later] },
    catalog: {
      current: () => known,
      reloadShard: async () =>
        (known = { ...before, placement: { ...before.placement, shardOfId: () => 1 } }),
    },
  } as unknown as EngineContext
  const tried = [claimOf(HOLDER, 6), OWN]
  expect(await takeKeyAt(moving, async () => tried.shift(), 0, WANTED, signal)).toBeUndefined()
  expect(calls).toContain(`swap 6 for ${VERSION}`)
})
