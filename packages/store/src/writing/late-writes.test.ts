import type { Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen, unknownOutcome } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'
import { handOverOf, MOVING, type HandOver } from '../../test/hand-over.ts'

let memory: Driver
let store: DataStore
let move: HandOver
/** In a bucket that moves. */
let id: string
/** Called when the first commit has taken place, before its answer is lost. */
let committed: () => Promise<void>

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  let commits = 0
  const driver = faultyDriver(memory, ({ operation }) => {
    if ((operation !== 'insert' && operation !== 'writeAll') || ++commits > 1) return undefined
    return {
      async after() {
        await committed()
        throw unknownOutcome()
      },
    }
  })
  store = await DataStore.open({ shards: keepOpen(driver), migrate: true, time: leapingTime() })
  id = idOn(store, 0)
  move = handOverOf(memory)
  await move.begin()
  await store.context.catalog.reload()
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

test.each([
  ['write', () => store.put({ n: 1 }, { id })],
  ['batch', () => store.batch([{ put: { n: 1 }, id }])],
])(
  'a %s without an answer is OUTCOME_UNKNOWN at the end of its time if nobody serves its bucket any more',
  async (_, write) => {
    committed = async () => {
      await move.seal(MOVING)
      expect(await move.giveUp(MOVING)).toBe(true)
      const target = memory.shards[1]!
      const catalog = (await loadShardCatalog(target))!
      await changeServes(target, catalog, { ...catalog.serves!, coming: undefined })
      await store.context.catalog.reload()
    }
    await expect(write()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', entity: id })
  },
)
