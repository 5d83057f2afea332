import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { parseId } from '@looseleaf/core'
import type { IndexRow } from '@looseleaf/core/internal'
import { keptRowsMs, tableSpec } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { addRow, byTag, entryOf, openStore, removeRow, rowFor } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { cleanIndex } from '../clean/clean-index.ts'
import type { Problem } from '../pass/pass-options.ts'
import { checkIndex, tunedCheckIndex } from './check-index.ts'

// The cost of a check, and its bounds.

let driver: ReferenceDriver
let time: LeapingTime
let store: DataStore
/** Number of look-ups of rows by entity, by shard. */
let looks: number[]

beforeEach(async () => {
  time = leapingTime()
  looks = [0, 0]
  driver = createReferenceDriver({ shards: 2 })
  const counted = faultyDriver(driver, ({ operation, shard }) => {
    if (operation === 'rowsOf') looks[shard]!++
    return undefined
  })
  store = await openStore({ driver: counted, time })
})

const bagOf = (published: number): { user_id: string; published: number } => ({ user_id: 'ada', published })

/** Returns the stored table of `by_user` on a shard. */
const tableOn = (shard: number) => driver.shards[shard]!.index(tableSpec(entryOf(store, 'by_user')))

async function putMany(count: number): Promise<void> {
  await store.putMany(Array.from({ length: count }, (_, i) => bagOf(i)))
}

/** Deletes every row of the index. */
async function removeAll(): Promise<void> {
  for (const shard of [0, 1]) {
    const rows = tableOn(shard).rows.map((row) => ({ ...row, before: Number.MAX_SAFE_INTEGER }))
    await tableOn(shard).remove(rows)
  }
}

/** Adds rows without an entity, this many on each shard. */
async function addOrphans(...counts: number[]): Promise<void> {
  for (const [shard, count] of counts.entries()) {
    const rows = Array.from({ length: count }, (_, i): IndexRow => ({
      key: [Buffer.from('eve'), BigInt(i)],
      entityId: parseId(store.newId()),
      version: 1,
    }))
    await tableOn(shard).upsert(rows)
  }
}

describe('a check', () => {
  it('a check counts entities without tombstones, and reports problems', async () => {
    await putMany(3)
    const { id } = await store.put(bagOf(4))
    await store.delete(id)
    const misfit = await store.put({ user_id: 'ada', published: 'x' })
    const problems: Problem[] = []
    const onProblem = (problem: Problem): void => void problems.push(problem)
    expect(await checkIndex(store, 'by_user', { onProblem })).toMatchObject({ entities: 4, misfits: 1 })
    expect(problems).toMatchObject([{ kind: 'misfit', entity: misfit.id, index: 'by_user' }])
  })

  it('a check reloads the catalog first', async () => {
    const late = await openStore({ driver, indexes: [], time })
    await (await openStore({ driver, time })).dropIndex('by_tag')
    await expect(checkIndex(late, 'by_tag')).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND' })
    await store.addIndex(byTag)
    expect(await checkIndex(late, 'by_tag')).toMatchObject({ generation: 2 })
  })

  it('a check looks up rows only on the shards where they are expected', async () => {
    await store.put(bagOf(1))
    const { shard } = rowFor(store, 'by_user', store.newId(), bagOf(1), 1)
    await checkIndex(store, 'by_user')
    expect(looks).toEqual(shard === 0 ? [1, 0] : [0, 1])
  })
})

describe('a row that seems wrong', () => {
  it('a row that seems missing is looked at again after half a second, or after `settleMs`', async () => {
    await putMany(1)
    await removeAll()
    expect(await checkIndex(store, 'by_user')).toMatchObject({ missing: 1 })
    expect(time.slept).toBe(500)
    await tunedCheckIndex(store, 'by_user', { settleMs: 7 })
    expect(time.slept).toBe(507)
  })

  it('a row that seems to dangle is looked at again later, because lost rows are kept on purpose', async () => {
    await addOrphans(1, 0)
    const kept = keptRowsMs(store.context.catalog.current())
    expect(await checkIndex(store, 'by_user')).toMatchObject({ dangling: 1 })
    expect(time.slept).toBe(kept + 500)
    await tunedCheckIndex(store, 'by_user', { settleMs: 7 })
    expect(time.slept).toBe(2 * kept + 507)
  })

  it('many missing rows are looked at again together, and 20 entities are named', async () => {
    await putMany(150)
    await removeAll()
    const { missing, examples } = await checkIndex(store, 'by_user')
    expect(missing).toBe(150)
    expect(new Set(examples).size).toBe(20)
    // Both shards have entities, and are checked concurrently.
    expect(time.slept).toBe(1_000)
  })

  it('dangling rows are summed over all shards', async () => {
    await addOrphans(2, 3)
    expect(await checkIndex(store, 'by_user')).toMatchObject({ dangling: 5, misplaced: 0, rows: 5 })
  })

  it('dangling rows of several pages are looked at again together', async () => {
    // The rows are more than a page.
    await addOrphans(510, 0)
    expect(await tunedCheckIndex(store, 'by_user', { settleMs: 0 })).toMatchObject({ dangling: 510 })
    expect(time.slept).toBe(keptRowsMs(store.context.catalog.current()))
  })

  it('the number of gathered suspects is bounded, and none counts twice', async () => {
    await addOrphans(2_600, 0)
    expect(await tunedCheckIndex(store, 'by_user', { settleMs: 0 })).toMatchObject({ dangling: 2_600 })
    expect(time.slept).toBe(2 * keptRowsMs(store.context.catalog.current()))
    // Some 2,700 entities on each shard are more than can be gathered, by more than a page.
    await putMany(5_400)
    await removeAll()
    const before = time.slept
    expect(await checkIndex(store, 'by_user')).toMatchObject({ missing: 5_400, dangling: 0 })
    expect(time.slept - before).toBe(2_000)
  })
})

it('a clean looks up rows only where they are expected, once to add them and once to check', async () => {
  await cleanIndex(store)
  const { id } = await store.put(bagOf(1))
  await store.put({ other: 1 })
  const { shard } = rowFor(store, 'by_user', id, bagOf(1), 1)
  looks = [0, 0]
  await cleanIndex(store, 'by_user')
  expect(looks).toEqual(shard === 0 ? [2, 0] : [0, 2])
})

it('the check of a clean adds missing rows', async () => {
  const { id } = await store.put(bagOf(1))
  const row = rowFor(store, 'by_user', id, bagOf(1), 1)
  await removeRow(store, 'by_user', row)
  expect(await cleanIndex(store, 'by_user')).toMatchObject({ added: 1 })
  await addRow(store, 'by_user', row)
  expect(await cleanIndex(store, 'by_user')).toMatchObject({ added: 0 })
})
