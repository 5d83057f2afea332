import { parseId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  addRow,
  byUser,
  entryOf,
  expectedRows,
  openStore,
  removeRow,
  rowFor,
  rowsIn,
  withDeleteDelay,
} from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { indexTarget, type IndexTarget } from '../pass/index-target.ts'
import { reconcile } from './reconcile.ts'
import { createRepairPass, type RepairPass } from './repair-pass.ts'

const ada = { user_id: 'ada', published: 1 }

let writer: DataStore
let pass: RepairPass
let targets: IndexTarget[]
/** Operations that the cleaner sends. */
let sent: string[]
let before: (operation: string) => unknown

beforeEach(async () => {
  sent = []
  before = () => undefined
  const driver = await memoryShards(1).connect()
  const watched = faultyDriver(driver, ({ operation }) => ({
    async before() {
      sent.push(operation)
      await before(operation)
    },
  }))
  const time = leapingTime()
  writer = await openStore({ driver, time, indexes: [byUser] })
  const { context } = await openStore({ driver: watched, time, indexes: [byUser] })
  pass = createRepairPass(context)
  targets = [indexTarget(context, entryOf(writer, 'by_user'))]
  sent.length = 0
})

const count = (operation: string): number => sent.filter((name) => name === operation).length

/** Writes an entity, and deletes its row. */
async function putWithoutRow(published: number, id: string): Promise<void> {
  const bag = { ...ada, published }
  await writer.put(bag, { id })
  await removeRow(writer, 'by_user', rowFor(writer, 'by_user', id, bag, 0))
}

describe('an entity', () => {
  it('an entity that is written between all looks gets five looks', async () => {
    const { id } = await writer.put(ada)
    await putWithoutRow(2, id)
    let published = 2
    before = async (operation) => {
      if (operation === 'upsert') await putWithoutRow(++published, id)
    }
    await reconcile(pass, targets, [parseId(id)])
    expect(count('upsert')).toBe(5)
    expect(pass.tally.entities).toBe(5)
  })

  it('an entity that was written before its rows were deleted gets one more look for all of them', async () => {
    const { id, version } = await writer.put(ada)
    for (const published of [8, 9])
      await addRow(writer, 'by_user', rowFor(writer, 'by_user', id, { ...ada, published }, version))
    let isFirst = true
    before = async (operation) => {
      if (operation !== 'flush' || !isFirst) return
      isFirst = false
      await writer.put({ ...ada, published: 8 }, { id })
    }
    await reconcile(pass, targets, [parseId(id)])
    expect(pass.tally.entities).toBe(2)
    await pass.removals.settle(undefined)
    await writer.settled()
    expect(await rowsIn(writer, 'by_user')).toEqual(await expectedRows(writer, 'by_user'))
  })

  it('an entity that loses its only row between the read and the look counts no missing row', async () => {
    const { id } = await writer.put(ada)
    let isFirst = true
    before = async (operation) => {
      if (operation !== 'rowsOf' || !isFirst) return
      isFirst = false
      // The writer deletes the only row of an entity right after its commit.
      await writer.put({ published: 2 }, { id })
      expect(await rowsIn(writer, 'by_user')).toEqual([])
    }
    await reconcile(pass, targets, [parseId(id)])
    expect(isFirst).toBe(false)
    expect(pass.tally.added).toBe(0)
    expect(await rowsIn(writer, 'by_user')).toEqual([])
  })

  it('an entity with correct rows gets one look', async () => {
    const { id } = await writer.put(ada)
    expect(await reconcile(pass, targets, [parseId(id)])).toEqual({ waiting: [], duplicates: 0 })
    expect(pass.tally.entities).toBe(1)
    expect(count('readVersions') + count('upsert') + count('flush')).toBe(0)
  })

  it('an empty list of entities causes no statement', async () => {
    await reconcile(pass, targets, [])
    expect(sent).toEqual([])
  })
})

it('rows too young to be judged are returned, from all looks', async () => {
  const { id, version } = await writer.put(ada)
  await putWithoutRow(2, id)
  for (const published of [8, 9])
    await addRow(writer, 'by_user', rowFor(writer, 'by_user', id, { ...ada, published }, version + 1_000_000))
  const { waiting } = await reconcile(pass, targets, [parseId(id)])
  expect(waiting.map(({ row }) => row.key[1]).toSorted()).toEqual([8n, 9n])
})

it.each([
  ['are used for the first look only', 0, 0],
  ['are read again if a failover can undo them', 5_000, 1],
])('rows that the caller has just read %s', async (_, deleteDelayMs, reads) => {
  const { id } = await writer.put(ada)
  const [shard] = writer.context.driver.shards
  const read = (await shard!.entities.read([parseId(id)])).filter((row) => row !== undefined)
  await putWithoutRow(2, id)
  await writer.settled()
  const careful: RepairPass = { ...pass, context: withDeleteDelay(pass.context, deleteDelayMs) }
  await reconcile(careful, targets, [parseId(id)], read)
  // The first version lacks its row, which is added; then the entity turns out to have moved.
  expect(count('readBounded')).toBe(1)
  expect(pass.tally.entities).toBe(2 - reads)
  expect(await rowsIn(writer, 'by_user')).toEqual(
    expect.arrayContaining(await expectedRows(writer, 'by_user')),
  )
})
