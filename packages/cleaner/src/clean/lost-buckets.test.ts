import { leapingTime } from '@looseleaf-tooling/kit/times'
import { parseId, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents, changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { createThrottle } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, expect, test } from 'vitest'
import { pace } from '../../test/pace.ts'
import { byUser, entryOf, openStore, removeRow, rowFor } from '../../test/stores.ts'
import { indexTarget } from '../pass/index-target.ts'
import { emptyTally } from '../pass/tally.ts'
import type { CleanJob } from './clean-job.ts'
import { createHalts } from './halts.ts'
import { claimParts, type LeasedParts } from './part-lease.ts'
import { enterPhase, phases, type Part } from './part.ts'
import { createProgressMeter, type CleanProgress } from './progress.ts'
import { scanEntities } from './shard-scans.ts'

// Scans of the entities of shard 0, whose buckets 0-1023 move to shard 1.

const BUCKETS = '0-1023'
const { signal } = new AbortController()

let driver: Driver
let store: DataStore
let plan: FaultPlan
let progress: CleanProgress[]
let job: CleanJob
let parts: LeasedParts
let part: Part
/** Ids of entities in the buckets that move, and in others of shard 0. */
let moving: string[]
let staying: string[]

beforeEach(async () => {
  plan = () => undefined
  progress = []
  const time = leapingTime()
  driver = await memoryShards(2).connect()
  store = await openStore({ driver: faultyDriver(driver, (call) => plan(call)), time, indexes: [byUser] })
  const { context } = store
  const bucketOf = (id: string): number => context.router.buckets!.ofId(parseId(id))
  const idsIn = (first: number, last: number, count: number): string[] => {
    const ids: string[] = []
    while (ids.length < count) {
      const id = store.newId()
      if (bucketOf(id) >= first && bucketOf(id) <= last) ids.push(id)
    }
    return ids
  }
  moving = idsIn(0, 1023, 4)
  staying = idsIn(1024, 2047, 2)
  for (const id of [...moving, ...staying]) await store.put({ user_id: 'ada', published: 1 }, { id })
  const move = { id: 1, from: 0, to: 1, buckets: BUCKETS, phase: 'both' as const }
  await changeCatalogContents(driver, ({ layout, ...contents }) => ({
    ...contents,
    layout: { ...layout!, revision: layout!.revision + 1, moves: [move] },
  }))
  await context.catalog.reload()
  const target = indexTarget(context, entryOf(store, byUser.name))
  const throttle = createThrottle(time, undefined)
  const lease = { owner: 'me', leaseMs: 30_000, checkpointMs: 0, onRemoved: () => {}, paceOf: () => pace }
  const run = { run: 'this', number: 1, state: 'running', rewrites: false, startedAt: 1 } as const
  job = {
    context,
    runs: new Map([[target, { ...run, finishedAt: 0, tally: emptyTally(), filled: false }]]),
    lease,
    pollMs: 1,
    settleMs: 0,
    shardsAtOnce: 1,
    options: { pageSize: 100 },
    throttle,
    halts: createHalts(context, [], 0),
    meter: createProgressMeter({
      time,
      throttle,
      shardsNow: () => [0, 1],
      planned: phases,
      onProgress: (report) => void progress.push(report),
    }),
    countWork: () => {},
  }
  parts = await claimParts(context, new Map([[target, run.run]]), 0, lease, {})
  part = parts.leases[0]!.part
})

/** Makes shard 0 give the buckets up before its next save of parts, the last statement of a page. */
function loseAtSave(): void {
  plan = ({ operation }) => {
    if (operation !== 'saveAll') return undefined
    plan = () => undefined
    return { before: giveUp }
  }
}

async function giveUp(): Promise<void> {
  const [shard] = driver.shards
  const departure = { move: 1, attempt: 1, buckets: BUCKETS, to: 1, end: 1 }
  await changeServes(shard!, (await loadShardCatalog(shard!))!, { owns: '1024-2047', away: [departure] })
}

test('buckets that leave the shard after their page do not count as read', async () => {
  loseAtSave()
  await scanEntities(job, 'entities', parts, parts.leases, 0, signal)
  expect(part).toMatchObject({ phase: 'dangling', read: { entities: '1024-2047', check: '' } })
  expect(part.tally.entities).toBe(6)
})

test('a part that reads some buckets of its shard skips the entities of others, and expects its share of them', async () => {
  part.reading = { '-1': '1024-2047' }
  await scanEntities(job, 'entities', parts, parts.leases, 0, signal)
  expect(part.tally.entities).toBe(2)
  expect(progress).toMatchObject([{ done: 2, total: 3, timeLeftMs: expect.any(Number) }])
  expect(part.read.entities).toBe('1024-2047')
})

test('buckets of an earlier pass that leave the shard while a check repeats do not count as read', async () => {
  const [id] = staying
  await removeRow(store, byUser.name, rowFor(store, byUser.name, id!, { user_id: 'ada', published: 1 }, 0))
  enterPhase(part, 'check')
  part.read.check = BUCKETS
  part.reading = { '-1': '1024-2047' }
  let rounds = 0
  plan = ({ operation }) => {
    // The second round reads all buckets.
    if (operation === 'extent' && ++rounds === 2) loseAtSave()
    return undefined
  }
  await scanEntities(job, 'check', parts, parts.leases, 0, signal)
  expect(rounds).toBe(2)
  expect(part).toMatchObject({ phase: 'done', read: { check: '1024-2047' } })
})
