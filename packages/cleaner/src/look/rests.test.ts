import { parseId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { createThrottle } from '@looseleaf/protocol/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { beforeEach, expect, test } from 'vitest'
import { byUser, entryOf, openStore, rowFor } from '../../test/stores.ts'
import { indexTarget, type IndexTarget } from '../pass/index-target.ts'
import { createPass, type Pass } from '../pass/pass.ts'
import { danglingAmong, type TargetRow } from './dangling-among.ts'
import { deriveAll, derivedBatches } from './derive-entity.ts'
import { inspect } from './inspect.ts'
import { otherVersionRows } from './other-version-rows.ts'
import { eachEntity, readDerived } from './read-entities.ts'

// Looks of a pass give way to calls of their process.

let pass: Pass
let target: IndexTarget
let ids: Uint8Array[]
let rows: TargetRow[]
let rests: number
let resting: number
/** Number of statements that were sent during a rest. */
let hasty: number

beforeEach(async () => {
  resting = 0
  hasty = 0
  const driver = faultyDriver(await memoryShards(1).connect(), () => {
    if (resting > 0) hasty++
    return undefined
  })
  const store = await openStore({ driver, indexes: [byUser] })
  target = indexTarget(store.context, entryOf(store, 'by_user'))
  const bag = { user_id: 'ada', published: 1 }
  const entities = await store.putMany([bag, bag, bag])
  ids = entities.map(({ id }) => parseId(id))
  rows = entities.map(({ id, version }) => ({ target, row: rowFor(store, 'by_user', id, bag, version).row }))
  const throttle = {
    ...createThrottle(store.context.time, undefined),
    async rest() {
      rests++
      resting++
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
      resting--
    },
  }
  pass = createPass(store.context, {}, throttle)
})

const read = () => pass.context.driver.shards[0]!.entities.read(ids)

// With a rest before each statement, and one for each entity or index that is worked on.
const looks: Readonly<Record<string, [rests: number, look: () => Promise<unknown>]>> = {
  'a read of entities': [4, () => eachEntity(pass, ids, async () => {})],
  'a derivation of entities': [3, async () => deriveAll(pass, [target], (await read()) as never)],
  'a derivation of batches': [
    3,
    async () => Array.fromAsync(derivedBatches(pass, [target], (await read()) as never)),
  ],
  'a comparison of rows with entities': [4 + 3, () => danglingAmong(pass, 0, rows)],
  'a comparison of versions': [1, () => otherVersionRows(pass, 0, rows)],
  'a comparison of entities with rows': [
    4 + 2,
    async () => inspect(pass, [target], await readDerived(pass, [target], ids), { everywhere: true }),
  ],
}

test.each(Object.entries(looks))('%s waits while calls go first', async (_, [count, look]) => {
  rests = 0
  await look()
  expect([rests, resting, hasty]).toEqual([count, 0, 0])
})
