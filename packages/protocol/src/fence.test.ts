import { LooseleafError } from '@looseleaf/core'
import type { EngineContext, PlacedCatalog } from '@looseleaf/index-engine/internal'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { beforeEach, expect, test } from 'vitest'
import { fence } from './fence.ts'

const ID = Buffer.alloc(16, 1)
const BODY = Buffer.from('body')
const stale = new LooseleafError('STALE_EPOCH', 'The epoch is another.')
const { signal } = new AbortController()

/** The version and the body of the entity; undefined for an absent one. */
let stored: { readonly version: number; readonly body: Uint8Array | null } | undefined
let known: PlacedCatalog
/** The catalog after the next reading of the shard. */
let next: PlacedCatalog
let sent: unknown[]
/** Runs before a write. */
let beforeWrite: () => void
let replaces: boolean
let context: EngineContext

const catalogOf = (epochs: readonly number[], isServed = true, shard = 0): PlacedCatalog =>
  ({
    epochs,
    placement: { shardOfId: () => shard, isServed: () => isServed, isSealed: () => false },
  }) as unknown as PlacedCatalog

beforeEach(() => {
  stored = { version: 7, body: BODY }
  known = catalogOf([5, 6])
  next = known
  sent = []
  beforeWrite = () => undefined
  replaces = true
  const shards = [0, 1].map((number) => {
    const write = (rows: unknown, options: unknown): void => {
      sent.push([number, rows, options])
      beforeWrite()
    }
    const entities = {
      async read(ids: readonly Uint8Array[], options: unknown) {
        expect([ids, options]).toEqual([[ID], { signal }])
        return [stored]
      },
      insert: async (rows: unknown, options: unknown) => write(rows, options),
      async replace(rows: unknown, options: unknown) {
        write(rows, options)
        return [replaces]
      },
      floor: async () => ({ purged: { version: 3, updated: 2 } }),
    }
    return { name: `shard ${number}`, entities }
  })
  context = {
    router: {},
    time: leapingTime(),
    driver: { shards },
    clock: { next: (least: number) => least + 1 },
    catalog: {
      current: () => known,
      async reloadShard() {
        await new Promise((resolve) => setImmediate(resolve))
        known = next
        return known
      },
    },
  } as unknown as EngineContext
})

const fenceOff = (version: number, stamp: number): Promise<number | undefined> =>
  fence(context, { id: ID, version }, stamp, { signal })

test.each([
  [9, 10],
  [3, 8],
])('a fence above the stamp %i keeps the body, and gets the version %i', async (stamp, version) => {
  expect(await fenceOff(7, stamp)).toBe(version)
  const row = { id: ID, version, body: BODY, base: 7, epoch: 5 }
  expect(sent).toEqual([[0, [row], { epoch: 5, signal }]])
})

test('an absent entity gets a tombstone', async () => {
  expect(await fenceOff(0, 9)).toBe(10)
  expect(sent).toEqual([[0, [{ id: ID, version: 10, body: null, base: 0, epoch: 5 }], { epoch: 5, signal }]])
})

test('a tombstone stays a tombstone', async () => {
  stored = { version: 7, body: null }
  expect(await fenceOff(7, 9)).toBe(10)
  expect(sent).toMatchObject([[0, [{ body: null }], {}]])
})

test.each([
  ['has another version', { version: 8, body: BODY }],
  ['is gone', undefined],
])('an entity that %s by now is not fenced', async (_, found) => {
  stored = found
  expect(await fenceOff(7, 9)).toBeUndefined()
  expect(sent).toEqual([])
})

test('a fence after which another write came first, or without an answer, does not count', async () => {
  replaces = false
  expect(await fenceOff(7, 9)).toBeUndefined()
  replaces = true
  beforeWrite = () => {
    throw new LooseleafError('OUTCOME_UNKNOWN', 'Lost.')
  }
  expect(await fenceOff(7, 9)).toBeUndefined()
  expect(sent).toHaveLength(2)
})

test('a fence by an old epoch is tried again by that of the shard, up to eight times', async () => {
  next = catalogOf([8, 6])
  beforeWrite = () => {
    if (known !== next) throw stale
  }
  expect(await fenceOff(7, 9)).toBe(10)
  expect(sent).toMatchObject([
    [0, [{ epoch: 5 }], { epoch: 5 }],
    [0, [{ epoch: 8 }], { epoch: 8 }],
  ])
  sent = []
  beforeWrite = () => {
    throw stale
  }
  expect(await fenceOff(7, 9)).toBeUndefined()
  expect(sent).toHaveLength(8)
})

test('a shard whose epoch is unknown is asked by the epoch 0', async () => {
  known = catalogOf([])
  await fenceOff(7, 9)
  expect(sent).toMatchObject([[0, [{ epoch: 0 }], { epoch: 0 }]])
})

test('an entity whose bucket begins at another shard is fenced there', async () => {
  known = catalogOf([5, 6], false)
  next = catalogOf([5, 6], true, 1)
  expect(await fenceOff(7, 9)).toBe(10)
  expect(sent).toMatchObject([[1, [{ version: 10, epoch: 6 }], { epoch: 6 }]])
})
