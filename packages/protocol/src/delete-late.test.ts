import type { EntityRow, IndexRow } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { entryOf } from '@looseleaf-tooling/kit/catalogs'
import { expect, test } from 'vitest'
import { deleteLost, isYoung, judgeDangling, upTo } from './delete-late.ts'
import type { RowLanes } from './index-rows.ts'

const NOW = 50_000
const GRACE_MS = 1_000

interface Found {
  readonly row: IndexRow
  readonly entity: { readonly id: Uint8Array; readonly version: number; readonly updated: number }
}

const stampOf = (milliseconds: number): number => milliseconds * 1_000
/** An entity whose bytes are its number. Its version is a time in milliseconds, in microseconds. */
const entityOf = (n: number, versionMs: number): Found['entity'] => ({
  id: Buffer.alloc(16, n),
  version: stampOf(versionMs),
  updated: stampOf(versionMs),
})
const found = (entity: Found['entity'], stampMs: number): Found => ({
  entity,
  row: { key: [], entityId: entity.id, version: stampOf(stampMs) },
})

/** A store whose entities have these versions by now. */
function storeOf(versions: ReadonlyMap<number, number>, deleteDelayMs = 0) {
  const calls: string[] = []
  const numbersOf = (ids: readonly Uint8Array[]): string => ids.map(([n]) => n).join()
  const entities = {
    async read([id]: readonly Uint8Array[]) {
      const version = versions.get(id![0]!)
      return [version === undefined ? undefined : { id, version, body: null }]
    },
    async readVersions(ids: readonly Uint8Array[]) {
      calls.push(`versions ${numbersOf(ids)}`)
      return ids.map(([n]) => versions.get(n!))
    },
    async replace([{ id, version }]: readonly [EntityRow]) {
      calls.push(`fence ${id[0]} at ${version}`)
      return [true]
    },
  }
  const current = {
    epochs: [1],
    policies: { deleteDelayMs },
    placement: { shardOfId: () => 0, isServed: () => true, isSealed: () => false },
  }
  const context = {
    router: {},
    time: { now: () => NOW },
    clock: { next: (least: number) => least + 1 },
    driver: { shards: [{ entities, flush: async () => void calls.push('flush') }] },
    catalog: { current: () => current },
  } as unknown as EngineContext
  return { context, calls }
}

async function judge(
  dangling: readonly Found[],
  versions: ReadonlyMap<number, number>,
  options: {
    readonly deleteDelayMs?: number
    readonly leaves?: (row: Found) => boolean
    readonly readAt?: number
  } = {},
) {
  const { context, calls } = storeOf(versions, options.deleteDelayMs)
  const cleared: (readonly [Found, number])[] = []
  const fenced: Found[] = []
  const judged = await judgeDangling(context, dangling, {
    readAt: options.readAt ?? NOW,
    graceMs: GRACE_MS,
    leaves: options.leaves,
    onCleared: (row, version) => cleared.push([row, version]),
    onFenced: (row) => fenced.push(row),
  })
  return { ...judged, cleared, fenced, calls }
}

const OLD = entityOf(1, 10_000)
const AS_READ = new Map([[1, OLD.version]])

test('rows up to the version of their entity are cleared once that is on disk, unless a writer deletes them', async () => {
  const [same, earlier, left] = [found(OLD, 10_000), found(OLD, 9_000), found(OLD, 8_000)]
  const judged = await judge([same, earlier, left], AS_READ, { leaves: (row) => row === left })
  expect(judged).toEqual({
    waiting: [],
    moved: [],
    cleared: [
      [same, OLD.version],
      [earlier, OLD.version],
    ],
    fenced: [],
    calls: ['flush', 'versions 1'],
  })
})

test('a row whose entity was written or undone since is looked at again', async () => {
  const stays = entityOf(2, 10_000)
  const [moved, kept] = [found(OLD, 10_000), found(stays, 9_000)]
  const judged = await judge(
    [moved, kept],
    new Map([
      [1, 7],
      [2, stays.version],
    ]),
  )
  expect([judged.moved, judged.cleared]).toEqual([[moved], [[kept, stays.version]]])
})

test('a row ahead of its entity waits while it is young', async () => {
  const rows = [found(OLD, NOW - GRACE_MS + 1), found(OLD, NOW + GRACE_MS - 1)]
  expect(await judge(rows, AS_READ)).toMatchObject({ waiting: rows, moved: [], cleared: [], calls: [] })
})

test('an entity is fenced once, above the stamps of all rows ahead of it', async () => {
  const rows = [found(OLD, 20_000), found(OLD, 30_000), found(OLD, NOW - GRACE_MS)]
  const version = stampOf(NOW - GRACE_MS) + 1
  expect(await judge(rows, AS_READ)).toEqual({
    waiting: [],
    moved: [],
    cleared: rows.map((row) => [row, version]),
    fenced: [rows[0]],
    calls: [`fence 1 at ${version}`],
  })
})

test('the rows of an entity that cannot be fenced are looked at again, and those of others are cleared', async () => {
  const other = entityOf(2, 10_000)
  const [moved, moved2, cleared] = [found(OLD, 20_000), found(OLD, 30_000), found(other, 20_000)]
  const judged = await judge(
    [moved, moved2, cleared],
    new Map([
      [1, 7],
      [2, other.version],
    ]),
  )
  expect(judged).toMatchObject({ moved: [moved, moved2], waiting: [], fenced: [cleared] })
  expect(judged.cleared).toEqual([[cleared, stampOf(20_000) + 1]])
})

test('no row is deleted while a failover may undo a commit or a fence', async () => {
  const delay = { deleteDelayMs: 5_000 }
  const recent = found(OLD, 9_000)
  expect(await judge([recent], AS_READ, { ...delay, readAt: 14_999 })).toMatchObject({
    waiting: [recent],
    cleared: [],
    calls: [],
  })
  expect(await judge([recent], AS_READ, { ...delay, readAt: 15_000 })).toMatchObject({ waiting: [] })
  const ahead = found(OLD, 20_000)
  expect(await judge([ahead], AS_READ, delay)).toMatchObject({
    waiting: [ahead],
    cleared: [],
    fenced: [ahead],
  })
})

test('a stamp within the grace time on either side of the clock is young', () => {
  const { context } = storeOf(new Map())
  const young = (milliseconds: number): boolean => isYoung(context, stampOf(milliseconds), GRACE_MS)
  expect([NOW, NOW - 999, NOW + 999, NOW - 1_000, NOW + 1_000].map(young)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ])
})

test('a delete after a read includes the version that was read', () => {
  expect(upTo(7)).toBe(8)
})

test('lost rows are deleted below the version of the commit, and a failure is thrown', async () => {
  const entry = entryOf()
  const context = {
    catalog: { current: () => ({ placement: { rows: { writtenOfId: () => [0] } } }) },
  } as unknown as EngineContext
  const sent: unknown[] = []
  const down = new Error('down')
  let isDown = false
  const submitAll = async (rows: unknown): Promise<void> => {
    if (isDown) throw down
    sent.push(rows)
  }
  const lanes = { remove: { submitAll } } as unknown as RowLanes
  const [key, id] = [[Buffer.from('a')], Buffer.alloc(16, 1)]
  const remove = (): Promise<void> => deleteLost(context, () => lanes, [{ entry, key }], id, 7)
  await remove()
  expect(sent).toEqual([[{ key, entityId: id, before: 7 }]])
  isDown = true
  await expect(remove()).rejects.toBe(down)
})
