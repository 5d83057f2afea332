import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import type { Driver } from '@looseleaf/core'
import type { EntityPageRow, IndexRow } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import { beforeEach, expect, it } from 'vitest'
import { byUser, entryOf, openStore } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { indexTarget } from '../pass/index-target.ts'
import { createPass } from '../pass/pass.ts'
import { createTail, type Tail } from './tail.ts'

// The memory of a tail, for more entities than a test can write: the shard only pretends to have them.

let time: LeapingTime
let rows: EntityPageRow[]
/** Stamp of a dangling row of each entity; undefined for none. */
let stamp: number | undefined
/** Number of further lost rows of each entity, with an old stamp. */
let lost: number
let isSaved: boolean
let store: DataStore
let tail: Tail
let round: () => Promise<number | undefined>

beforeEach(async () => {
  time = leapingTime()
  stamp = undefined
  lost = 0
  isSaved = false
  const reference = createReferenceDriver({ shards: 1, now: () => time.now() * 1000 })
  const shard = reference.shards[0]!
  const lostRow = (entityId: Uint8Array, version: number, published = 0): IndexRow => ({
    key: [Buffer.from('eve'), BigInt(published)],
    entityId,
    version,
  })
  const driver: Driver = {
    ...reference,
    shards: [
      {
        ...shard,
        index: (spec) => shard.index(spec),
        rowsOf: async (specs, ids) =>
          specs.map(() =>
            ids.flatMap((id) => [
              ...(stamp === undefined ? [] : [lostRow(id, stamp)]),
              ...Array.from({ length: lost }, (_, i) => lostRow(id, 1, i)),
            ]),
          ),
        entities: {
          ...shard.entities,
          pageByUpdated: async () => rows,
          readVersions: async (ids) => ids.map(() => 1),
        },
        tasks: {
          ...shard.tasks,
          async save(...args) {
            await new Promise((resolve) => setImmediate(resolve))
            isSaved = true
            return shard.tasks.save(...args)
          },
        },
      },
    ],
  }
  store = await openStore({ driver, time, indexes: [byUser] })
  const target = indexTarget(store.context, entryOf(store, 'by_user'))
  tail = createTail(store.context, 0, {
    owner: 'first',
    leaseMs: 300_000,
    rowsPerRound: 100_000,
    lookBackMs: 60_000,
    maxLagMs: 86_400_000,
  })
  round = () => tail.round(createPass(store.context, { pageSize: 100_000 }), [target])
})

/** Returns tombstones that were just written. */
function tombstones(count: number): EntityPageRow[] {
  return Array.from({ length: count }, (_, i) => {
    const id = Buffer.alloc(16)
    id.writeUInt32BE(i)
    return { id, version: 1, updated: time.now() * 1000, body: null, bodyBytes: 0, addedId: i + 1 }
  })
}

it('at most 10,000 entities are revisited', async () => {
  rows = tombstones(10_001)
  stamp = time.now() * 1000
  await round()
  rows = []
  stamp = undefined
  time.leap(60_000)
  let looked = 0
  for (let rounds = 0; rounds < 102; rounds++) looked += (await round()) ?? 0
  expect(looked).toBe(10_000)
})

it.each([
  [39_999, 0],
  // In addition, 20,000 rows are left to their writers.
  [40_000, 11],
])('with %d dangling rows, the next round first waits %d ms', async (count, waits) => {
  const body = store.context.codec.encode({ user_id: 'ada', published: 1 })
  rows = tombstones(1).map((row) => ({ ...row, body, bodyBytes: body.length }))
  lost = count
  await round()
  const before = time.slept
  rows = []
  lost = 0
  await round()
  expect(time.slept - before).toBe(waits)
})

it('a release resolves after it is saved', async () => {
  rows = []
  await round()
  await tail.release()
  expect(isSaved).toBe(true)
})
