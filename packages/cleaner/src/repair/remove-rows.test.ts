import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { addRow, byUser, entryOf, openStore, rowFor, rowsIn, withDeleteDelay } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { danglingAmong } from '../look/dangling-among.ts'
import type { DanglingRow } from '../look/inspect.ts'
import { indexTarget } from '../pass/index-target.ts'
import { removeRows } from './remove-rows.ts'
import { createRepairPass, type RepairPass } from './repair-pass.ts'

const ada = { user_id: 'ada', published: 1 }
const YEAR = 365 * 86_400_000_000

let time: LeapingTime
let store: DataStore
let pass: RepairPass
let onFlush: () => unknown
let id: string
let version: number

beforeEach(async () => {
  time = leapingTime()
  onFlush = () => undefined
  const driver = faultyDriver(await memoryShards(1).connect(), ({ operation }) =>
    operation === 'flush' ? { before: async () => void (await onFlush()) } : undefined,
  )
  store = await openStore({ driver, time, indexes: [byUser] })
  pass = createRepairPass(store.context)
  ;({ id, version } = await store.put(ada))
})

/** Adds rows that the entity does not have, with these stamps. */
async function dangling(...stamps: number[]): Promise<DanglingRow[]> {
  const target = indexTarget(store.context, entryOf(store, 'by_user'))
  const rows = stamps.map((stamp, i) => rowFor(store, 'by_user', id, { user_id: 'eve', published: i }, stamp))
  for (const row of rows) await addRow(store, 'by_user', row)
  return danglingAmong(
    pass,
    0,
    rows.map(({ row }) => ({ target, row })),
  )
}

const settle = (): Promise<void> => pass.removals.settle(undefined)

describe('a row that the entity does not have', () => {
  it('a dangling row waits while a failover may undo the version that was read, with any stamp', async () => {
    const careful: RepairPass = { ...pass, context: withDeleteDelay(pass.context, 5_000) }
    const found = await dangling(version, version + YEAR)
    const { updated } = found[0]!.entity
    const outcome = await removeRows(careful, found, updated / 1000)
    expect(outcome).toEqual({ waiting: found, moved: [] })
    expect(pass.removals.isEmpty).toBe(true)
    expect(pass.tally).toMatchObject({ postponed: 2, fenced: 0, removed: 0 })
  })

  it('a dangling row is returned as moved if its entity was written before the flush', async () => {
    const found = await dangling(version)
    onFlush = () => store.put({ ...ada, published: 2 }, { id })
    expect(await removeRows(pass, found, time.now())).toEqual({ waiting: [], moved: found })
    expect(pass.removals.isEmpty).toBe(true)
    await store.settled()
    // The index has the new row of the entity, and this one.
    expect(await rowsIn(store, 'by_user')).toHaveLength(2)
  })

  it('dangling rows with later stamps than their entity are deleted under one fence', async () => {
    const found = await dangling(version + 2 * YEAR, version + YEAR)
    expect(await removeRows(pass, found, time.now())).toEqual({ waiting: [], moved: [] })
    await settle()
    expect(pass.tally).toMatchObject({ fenced: 1, removed: 2, postponed: 0 })
    expect(await rowsIn(store, 'by_user')).toHaveLength(1)
  })

  it.each([
    ['a row as old as the grace period is fenced', 0, 0],
    ['a row a microsecond younger waits', 1, 1],
  ])('the grace period decides: %s', async (_, later, waiting) => {
    time.leap(2 * pass.graceMs)
    const found = await dangling((time.now() - pass.graceMs) * 1000 + later)
    expect((await removeRows(pass, found, time.now())).waiting).toHaveLength(waiting)
    expect(pass.tally).toMatchObject({ postponed: waiting, fenced: 1 - waiting })
  })
})
