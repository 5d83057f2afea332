import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { LooseleafError, parseId } from '@looseleaf/core'
import { changeCatalog } from '@looseleaf/index-engine/internal'
import { fence } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, unknownOutcome, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { addRow, entryOf, expectedRows, openStore, rowFor, rowsIn } from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import type { DerivedEntity } from '../look/derive-entity.ts'
import { indexTarget } from '../pass/index-target.ts'
import { createRepairPass, type RepairPass } from './repair-pass.ts'

// Answers of a database to a fence or a delete, and their handling.

const BAG = { user_id: 'ada', published: 1 }

let driver: ReferenceDriver
let plan: FaultPlan
let store: DataStore
let pass: RepairPass
let sent: number

beforeEach(async () => {
  driver = createReferenceDriver({ shards: 1 })
  plan = () => undefined
  sent = 0
  const watched = faultyDriver(driver, (call) => {
    if (call.operation === 'insert' || call.operation === 'replace') sent++
    return plan(call)
  })
  store = await openStore({ driver: watched, time: leapingTime() })
  pass = createRepairPass(store.context)
})

const entityOf = (id: string, version: number): DerivedEntity => ({
  id: parseId(id),
  version,
  updated: 0,
  expected: new Map(),
})

const fenceOff = (entity: DerivedEntity): Promise<number | undefined> => fence(store.context, entity, 7)

/** Makes the first statements on entities fail with this error. */
function failWrites(make: () => Error, times = Infinity): void {
  let remaining = times
  plan = ({ operation }) =>
    (operation === 'insert' || operation === 'replace') && remaining-- > 0
      ? { before: () => Promise.reject(make()) }
      : undefined
}

describe('a fence', () => {
  it('a fence fails if another process has created the entity', async () => {
    const { id } = await store.put(BAG)
    expect(await fenceOff(entityOf(id, 0))).toBeUndefined()
    expect(await store.get(id)).toMatchObject(BAG)
  })

  it.each([0, 1])('a fence with an unknown outcome does not count as done (version %d)', async (version) => {
    const { id, version: current } = await store.put(BAG)
    failWrites(unknownOutcome)
    expect(await fenceOff(entityOf(version === 0 ? store.newId() : id, version * current))).toBeUndefined()
  })

  it.each([new LooseleafError('SHARD_UNAVAILABLE', 'Away.'), new TypeError('a bug')])(
    'a fence rejects with a permanent error (%s)',
    async (refusal) => {
      sent = 0
      failWrites(() => refusal)
      await expect(fenceOff(entityOf(store.newId(), 0))).rejects.toBe(refusal)
      expect(sent).toBe(1)
    },
  )

  it('a fence is retried with the epoch of the shard', async () => {
    const { id, version } = await store.put(BAG)
    await changeCatalog(driver, (indexes) => indexes)
    plan = ({ operation }) =>
      operation === 'load' ? { after: () => new Promise((resolve) => setTimeout(resolve, 5)) } : undefined
    sent = 0
    expect(await fenceOff(entityOf(id, version))).toBeGreaterThan(version)
    expect(sent).toBe(2)
  })

  it('a fence gives up if the epoch keeps changing', async () => {
    sent = 0
    failWrites(() => new LooseleafError('STALE_EPOCH', 'The catalog has another epoch.'))
    expect(await fenceOff(entityOf(store.newId(), 0))).toBeUndefined()
    expect(sent).toBe(8)
  })

  it('a fence fails if a crash undoes a write whose body it has read', async () => {
    const { id, version } = await store.put(BAG)
    const { version: undone } = await store.put({ ...BAG, user_id: 'eve' }, { id })
    const [shard] = driver.shards
    const row = { id: parseId(id), base: undone, version, body: store.context.codec.encode(BAG) }
    const epoch = store.context.catalog.current().epochs[0] ?? 0
    plan = ({ operation }) =>
      operation === 'read'
        ? { after: async () => void (await shard?.entities.replace([row], { epoch })) }
        : undefined
    expect(await fenceOff(entityOf(id, version))).toBeUndefined()
    plan = () => undefined
    expect(await store.get(id)).toMatchObject(BAG)
  })

  it('a fence fails if the entity is gone or was written', async () => {
    expect(await fenceOff(entityOf(store.newId(), 5))).toBeUndefined()
    const { id, version } = await store.put(BAG)
    expect(await fenceOff(entityOf(id, version - 1))).toBeUndefined()
  })
})

describe('removals', () => {
  const add = async (): Promise<void> => {
    const { id, version } = await store.put(BAG)
    const { shard, row } = await anotherRow(id, version)
    const target = indexTarget(store.context, entryOf(store, 'by_user'))
    pass.removals.add({ entity: entityOf(id, version), target, shard, row, misplaced: false }, version)
  }
  /** Adds a row that the entity does not have. */
  const anotherRow = async (id: string, version: number): Promise<ReturnType<typeof rowFor>> => {
    const other = rowFor(store, 'by_user', id, { ...BAG, published: 2 }, version)
    await addRow(store, 'by_user', other)
    return other
  }
  const failWith = (code: 'INDEX_NOT_FOUND' | 'SHARD_UNAVAILABLE'): void => {
    plan = ({ operation }) =>
      operation === 'remove' ? { before: () => Promise.reject(new LooseleafError(code, 'No.')) } : undefined
  }

  it('removals of a dropped index are forgotten', async () => {
    await add()
    failWith('INDEX_NOT_FOUND')
    await pass.removals.sendDue(undefined)
    expect(pass.tally.removed).toBe(0)
    expect(pass.removals.isEmpty).toBe(true)
  })

  it('removals stay due if their shard does not answer', async () => {
    await add()
    failWith('SHARD_UNAVAILABLE')
    await expect(pass.removals.sendDue(undefined)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    expect(pass.removals.isEmpty).toBe(false)
    plan = () => undefined
    await pass.removals.sendDue(undefined)
    expect(pass.tally.removed).toBe(1)
    expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  })
})
