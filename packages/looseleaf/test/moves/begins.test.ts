import type { EntityId } from '@looseleaf/core'
import type { AwayBuckets } from '@looseleaf/core/internal'
import {
  beginGroup,
  beginTarget,
  copyTarget,
  handOver,
  loadOwn,
  lostByTarget,
  seal,
  type Attempt,
  type MoveWork,
} from '@looseleaf/protocol/internal'
import type { FaultPlan, FaultyCall } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { announcedMove, BUCKETS, OWNED, type AnnouncedMove } from './announced-move.ts'
import { openStore } from './stores.ts'

const GROUP = '0-3'
const BEGUN = `${GROUP},${OWNED[1]}`
/** A copy that no target has. */
const LOST_COPY = { id: '01890a5d-ac96-774b-bcce-b302099a8057' as EntityId, updated: 1 }

let moving: AnnouncedMove
let work: MoveWork
let plan: FaultPlan
let attempt: Attempt

beforeEach(async () => {
  plan = () => undefined
  moving = await announcedMove((call) => plan(call))
  work = moving.work
})

/** Gives the group up at the source. */
async function giveUp(last?: AwayBuckets['last']): Promise<AwayBuckets> {
  attempt = await moving.begin()
  const sealed = await seal(work, attempt, GROUP)
  return (await handOver(work, attempt, GROUP, sealed, { end: 5, last }))!
}

/** Returns the begin of another process. */
async function otherBegin(): Promise<() => Promise<void>> {
  const other = await openStore(moving.driver, leapingTime())
  onTestFinished(() => other.close())
  return () => beginTarget(other.context, 1)
}

test.each([
  ['before the target is read', 'raiseFloor'],
  ['before the target is changed', 'change'],
])('a group that another process begins %s is begun once', async (_, operation) => {
  await giveUp()
  const begin = await otherBegin()
  let epoch = 0
  plan = (call: FaultyCall) => {
    if (call.shard !== 1 || call.operation !== operation || epoch !== 0) return undefined
    epoch = 1
    return {
      async before() {
        await begin()
        epoch = await moving.epochOf(1)
      },
    }
  }
  const began = work.context.time.now()
  await beginTarget(work.context, 1)
  expect(await moving.epochOf(1)).toBe(epoch)
  expect((await moving.servesOf(1)).arrived).toHaveLength(1)
  // The other process is given time.
  expect(work.context.time.now()).toBeGreaterThan(began)
})

test('a target begins above every earlier floor', async () => {
  await giveUp()
  const floor = await moving.driver.shards[1]!.entities.raiseFloor()
  await beginTarget(work.context, 1)
  const [{ begin } = { begin: 0 }] = (await moving.servesOf(1)).arrived!
  expect(begin).toBeGreaterThan(floor)
})

test('a target begins with the later group of a move although it lacks the last copy of the earlier one, which may have moved on', async () => {
  const record = { move: 1, attempt: 4, from: 0, afterAddedId: 7 }
  await moving.setServes(0, {
    owns: '10-1365',
    away: [
      { move: 1, attempt: 4, buckets: GROUP, to: 1, end: 5, last: LOST_COPY },
      { move: 1, attempt: 4, buckets: '4-9', to: 1, end: 6 },
    ],
  })
  const arrived = { ...record, buckets: GROUP, end: 5, begin: 6 }
  await moving.setServes(1, {
    owns: BEGUN,
    coming: [{ ...record, buckets: '4-9' }],
    arrived: [arrived],
  })
  await beginTarget(work.context, 1)
  expect(await moving.servesOf(1)).toEqual({
    owns: `${BUCKETS},${OWNED[1]}`,
    arrived: [arrived, { ...record, buckets: '4-9', end: 6, begin: expect.any(Number) as number }],
  })
})

test('a target does not begin with a group whose entities the source was told to delete', async () => {
  const away = await giveUp()
  const { owns } = await moving.servesOf(0)
  await moving.setServes(0, { owns, away: [{ ...away, emptied: 9 }] })
  await beginTarget(work.context, 1)
  expect((await moving.servesOf(1)).owns).toBe(OWNED[1])
  await expect(lostByTarget(work)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(
      /buckets 0-3 are on no shard: .* Nothing was moved\. .* Shard 0 was told to delete their entities since\./,
    ) as string,
  })
})

test.each([
  [GROUP, 2],
  ['', 3],
  ['', 4],
])('the third move has lost %j if its buckets have arrived by move %i', async (buckets, arrivedBy) => {
  const away = { move: 3, attempt: 7, buckets: GROUP, to: 1, end: 5 }
  await moving.setServes(0, { owns: OWNED[0], away: [away] })
  const arrived = { move: arrivedBy, attempt: 6, buckets: GROUP, from: 0, end: 5, begin: 6, afterAddedId: 0 }
  await moving.setServes(1, { owns: OWNED[1], arrived: [arrived] })
  const third = { ...work, move: { ...work.move, id: 3 } }
  expect(await lostByTarget(third)).toEqual({ attempt: buckets === '' ? 0 : 7, buckets })
})

test('a target does not begin if a crash of the source undoes the change that gave the group up', async () => {
  await giveUp()
  let isUndone = false
  plan = ({ shard, operation }) => {
    if (shard !== 0 || operation !== 'flush' || isUndone) return undefined
    isUndone = true
    return { before: () => moving.setServes(0, { owns: OWNED[0] }) }
  }
  await beginTarget(work.context, 1)
  expect(isUndone).toBe(true)
  expect((await moving.servesOf(1)).owns).toBe(OWNED[1])
})

test('a target that begins keeps the records of other moves, also of one that was undone and had the same buckets', async () => {
  const others = [
    { move: 8, attempt: 1, buckets: '0-20', from: 2, afterAddedId: 3 },
    { move: 9, attempt: 1, buckets: '100-101', from: 2, afterAddedId: 3 },
  ]
  await moving.setServes(1, { owns: OWNED[1], coming: others })
  await giveUp()
  await beginTarget(work.context, 1)
  expect((await moving.servesOf(1)).coming).toEqual([...others, expect.objectContaining({ buckets: '4-9' })])
})

test('the mover begins a group behind the time of its copies, if the target is as it was and has the last copy', async () => {
  const away = await giveUp()
  const known = await loadOwn(work.context, 1, {})
  const target = await copyTarget(work, known.catalog.epoch)
  expect(await beginGroup(work, { ...away, last: LOST_COPY }, known, target)).toBeUndefined()
  await moving.setServes(1, known.serves)
  expect(await beginGroup(work, away, known, target)).toBeUndefined()
  expect((await moving.servesOf(1)).owns).toBe(OWNED[1])
  const begun = await beginGroup(work, away, await loadOwn(work.context, 1, {}), target)
  expect(begun).toEqual({ epoch: await moving.epochOf(1), updated: target.updated })
  expect((await moving.servesOf(1)).arrived).toMatchObject([{ begin: target.updated + 1 }])
})
