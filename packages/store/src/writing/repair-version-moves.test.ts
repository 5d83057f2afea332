import type { Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents, changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'
import { handOverOf, MOVING } from '../../test/hand-over.ts'
import { repairVersion } from './repair-version.ts'

let memory: Driver
let store: DataStore
/** On shard 0. */
let id: string
let repairs: number
/** Called before the version is repaired. */
let before: () => Promise<void>

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  repairs = 0
  before = async () => {}
  const driver = faultyDriver(memory, ({ operation }) => {
    if (operation !== 'repairVersion') return undefined
    repairs++
    return { before: () => before() }
  })
  store = await DataStore.open({ shards: keepOpen(driver), migrate: true })
  id = idOn(store, 0)
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

async function moveWhole(): Promise<void> {
  const move = handOverOf(memory)
  await move.begin()
  await move.seal(MOVING)
  expect(await move.giveUp(MOVING)).toBe(true)
  await move.beginAtTarget(MOVING)
  await changeCatalogContents(memory, ({ layout, ...contents }) => {
    const shards = layout!.shards.map((shard, number) => ({
      ...shard,
      buckets: number === 0 ? '' : '0-4095',
    }))
    return { ...contents, layout: { ...layout!, revision: layout!.revision + 1, shards, moves: [] } }
  })
}

test('the repair of a version is refused when the entity has moved in the meantime', async () => {
  before = moveWhole
  await expect(repairVersion(store.context, id)).rejects.toMatchObject({ code: 'CONFLICT', entity: id })
  before = async () => {}
  expect(await repairVersion(store.context, id)).toBe(false)
  expect(repairs).toBe(2)
})

test('a version in a sealed bucket is left alone, although the announcement of the move is lost', async () => {
  const [source] = memory.shards
  const leaving = [{ move: 1, attempt: 1, buckets: MOVING, to: 1, sealed: MOVING }]
  await changeServes(source!, (await loadShardCatalog(source!))!, { owns: MOVING, leaving })
  await expect(repairVersion(store.context, id)).rejects.toMatchObject({ code: 'CONFLICT', entity: id })
  expect(repairs).toBe(0)
})

test('a version in an announced move is left alone', async () => {
  await handOverOf(memory).begin()
  await expect(repairVersion(store.context, id)).rejects.toMatchObject({ code: 'CONFLICT', entity: id })
  expect(repairs).toBe(0)
})
