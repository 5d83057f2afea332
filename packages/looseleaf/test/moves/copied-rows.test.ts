import { LooseleafError } from '@looseleaf/core'
import { bucketsIn, type CatalogEntry, type IndexRow } from '@looseleaf/core/internal'
import { bucketOfRow, tableSpec } from '@looseleaf/index-engine/internal'
import { copyIndexRows, entitiesIn, type MoveWork } from '@looseleaf/protocol/internal'
import type { FaultPlan } from '@looseleaf/testkit'
import { beforeEach, expect, test } from 'vitest'
import { announcedMove, BUCKETS, type AnnouncedMove } from './announced-move.ts'
import { byName } from './stores.ts'

/** A bucket of shard 0 that stays there. */
const OTHER = '100'

let moving: AnnouncedMove
let work: MoveWork
let plan: FaultPlan

beforeEach(async () => {
  plan = () => undefined
  moving = await announcedMove((call) => plan(call))
  work = moving.work
})

/** Returns the table of `byName` with its rows, or with its claims. */
function entryOf({ unique }: { readonly unique: boolean }): CatalogEntry {
  const { indexes } = work.context.catalog.current()
  return indexes.find((entry) => entry.name === byName.name && (entry.unique === true) === unique)!
}

/** Returns a row of the move's buckets. Its entity is in a bucket that does not move, and does not exist. */
function deadRow(entry: CatalogEntry): IndexRow {
  const isOther = entitiesIn(work.context, OTHER)
  let entityId = work.context.router.newId()
  while (!isOther(entityId)) entityId = work.context.router.newId()
  for (let n = 0; ; n++) {
    const key = [Buffer.from(`name ${n}`)]
    const bucket = bucketOfRow(entry, work.context.router.buckets!, key, entityId)
    if (bucketsIn(BUCKETS).includes(bucket)) return { key, entityId, version: 1 }
  }
}

test('the claim of an entity that no shard serves is copied, because its target may have lost it', async () => {
  const entry = entryOf({ unique: true })
  await moving.driver.shards[0]!.claims(tableSpec(entry)).take([deadRow(entry)])
  expect(await copyIndexRows(work, entry, { comparing: false })).toEqual({
    read: 1,
    found: 1,
    written: 0,
    later: 0,
    freed: 0,
  })
  const away = { move: 9, attempt: 1, buckets: OTHER, to: 2, end: 1 }
  await moving.setServes(0, { owns: '0-99,101-1365', away: [away] })
  await work.context.catalog.reload()
  expect(await copyIndexRows(work, entry, { comparing: false })).toMatchObject({ found: 1, written: 1 })
})

test('the rows of an index that is dropped meanwhile are left out, and other errors are passed on', async () => {
  const entry = entryOf({ unique: false })
  await moving.driver.shards[0]!.index(tableSpec(entry)).upsert([deadRow(entry)])
  let error = new LooseleafError('SHARD_DENIED', 'The server denies it.')
  plan = ({ shard, table, operation }) =>
    shard === 1 && table === entry.table && operation === 'upsert'
      ? { before: () => Promise.reject(error) }
      : undefined
  await expect(copyIndexRows(work, entry, { comparing: false })).rejects.toBe(error)
  error = new LooseleafError('INDEX_NOT_FOUND', 'The index was dropped.')
  expect(await copyIndexRows(work, entry, { comparing: false })).toMatchObject({ read: 1, written: 0 })
})

test('the copy of rows waits for the report of its pages', async () => {
  const entry = entryOf({ unique: false })
  await moving.driver.shards[0]!.index(tableSpec(entry)).upsert([deadRow(entry)])
  let reported = 0
  const onPage = async (read: number): Promise<void> => {
    for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve))
    reported += read
  }
  expect(await copyIndexRows(work, entry, { comparing: true, onPage })).toMatchObject({ written: 1 })
  expect(reported).toBe(1)
})
