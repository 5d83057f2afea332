import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { parseId } from '@looseleaf/core'
import { idKey, type IndexRow } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { keptRowsMs, shardOfRow, tableSpec } from '@looseleaf/index-engine/internal'
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

it.each([
  ['four shards', {}, 4],
  ['as many shards as `shardsAtOnce`', { shardsAtOnce: 1 }, 1],
])('a check reads at most %s at once', async (_, options, most) => {
  let reading = 0
  let highest = 0
  const watched = faultyDriver(createReferenceDriver({ shards: 6 }), ({ operation }) =>
    operation === 'pageByAdded' || operation === 'scan'
      ? {
          async before() {
            highest = Math.max(highest, ++reading)
            for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
            reading--
          },
        }
      : undefined,
  )
  const many = await openStore({ driver: watched, time })
  highest = 0
  await tunedCheckIndex(many, 'by_user', options)
  expect(highest).toBe(most)
})

describe('a check of a unique index', () => {
  const byMail = defineIndex('by_mail', {
    properties: { mail: 'string' },
    shardOn: 'mail',
    unique: true,
    onMisfit: 'skip',
  })
  let unique: DataStore

  beforeEach(async () => {
    unique = await openStore({ driver: createReferenceDriver({ shards: 2 }), indexes: [byMail], time })
  })

  const specOf = (ofClaims: boolean) =>
    tableSpec(unique.context.catalog.current().indexes.find((each) => (each.unique === true) === ofClaims)!)
  /** Returns the claims or the other rows of the index on a shard. */
  const tableOf = (shard: number, ofClaims: boolean) =>
    unique.context.driver.shards[shard]!.index(specOf(ofClaims))
  const claimsOn = (shard: number) => unique.context.driver.shards[shard]!.claims(specOf(true))

  /** Deletes the claim, or the row, of each of these entities. */
  async function lose(ids: readonly string[], ofClaims: boolean): Promise<void> {
    const lost = new Set(ids.map((id) => idKey(parseId(id))))
    for (const shard of [0, 1]) {
      const table = tableOf(shard, ofClaims)
      const rows = await table.scan({ prefix: [], order: 'asc', limit: 1_000 })
      const some = rows.filter(({ entityId }) => lost.has(idKey(entityId)))
      await table.remove(some.map((row) => ({ ...row, before: Number.MAX_SAFE_INTEGER })))
    }
  }

  it('a misfit is reported once, although rows and claims are compared', async () => {
    const { id } = await unique.put({ mail: 7 })
    const problems: Problem[] = []
    await checkIndex(unique, 'by_mail', { onProblem: (problem) => void problems.push(problem) })
    expect(problems).toMatchObject([{ kind: 'misfit', entity: id }])
  })

  it('misplaced rows and claims are summed, and 20 of their entities are named', async () => {
    const bags = Array.from({ length: 30 }, (_, n) => ({ mail: `m${n}` }))
    const ids = (await unique.putMany(bags)).map(({ id }) => id)
    await lose(ids.slice(0, 15), false)
    await lose(ids.slice(15), true)
    const entityId = parseId(ids[0]!)
    const { placement } = unique.context.catalog.current()
    const right = shardOfRow(byMail, placement, [Buffer.from('m0')], entityId)
    const row = { key: [Buffer.from('m0')], entityId, version: 1 }
    await tableOf(1 - right, false).upsert([row])
    await claimsOn(1 - right).take([row])
    const { examples, ...counts } = await checkIndex(unique, 'by_mail')
    expect(counts).toMatchObject({ missing: 15, unclaimed: 15, misplaced: 2, dangling: 0 })
    expect([examples.length, new Set(examples).size]).toEqual([20, 20])
    expect(examples.some((id) => ids.slice(15).includes(id))).toBe(true)
  })

  it('a claim of an entity without its key is no duplicate', async () => {
    const { id } = await unique.put({ mail: 'ada' })
    const { id: other } = await unique.put({ mail: 'bob' })
    await lose([id], true)
    const key = [Buffer.from('ada')]
    const shard = shardOfRow(byMail, unique.context.catalog.current().placement, key, parseId(id))
    await claimsOn(shard).take([{ key, entityId: parseId(other), version: 1 }])
    const problems: Problem[] = []
    const onProblem = (problem: Problem): void => void problems.push(problem)
    expect(await checkIndex(unique, 'by_mail', { onProblem })).toMatchObject({ unclaimed: 1, dangling: 1 })
    expect(problems).toEqual([])
  })

  it('a duplicate is reported also if its holder has several keys', async () => {
    const byMails = defineIndex('by_mails', {
      properties: { mails: 'string[]' },
      shardOn: 'mails',
      unique: true,
    })
    const store1 = await openStore({ driver: createReferenceDriver({ shards: 1 }), indexes: [], time })
    const { id: holder } = await store1.put({ mails: ['a', 'b'] })
    const { id } = await store1.put({ mails: ['a'] })
    await store1.addIndex(byMails)
    await cleanIndex(store1)
    const problems: Problem[] = []
    await checkIndex(store1, 'by_mails', { onProblem: (problem) => void problems.push(problem) })
    expect(problems).toMatchObject([{ kind: 'duplicate', entity: id, holder }])
  })

  it('an example may lack its claim alone', async () => {
    const { id } = await unique.put({ mail: 'ada' })
    await lose([id], true)
    expect(await checkIndex(unique, 'by_mail')).toMatchObject({ missing: 0, unclaimed: 1, examples: [id] })
  })
})
