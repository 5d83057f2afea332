import { LooseleafError } from '@looseleaf/core'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import { walkOwned, walkUnread, watchOwned } from '@looseleaf/protocol/internal'
import { bucketOfId } from '@looseleaf/router'
import type { FaultPlan } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { beforeEach, describe, expect, test } from 'vitest'
import { announcedMove, OWNED, type AnnouncedMove } from './announced-move.ts'

interface Row {
  readonly id: Uint8Array
}

type ReadRuns = Parameters<typeof walkOwned<Row>>[1]

const AWAY = { move: 1, attempt: 1, buckets: '0-9', to: 1, end: 1 }
const ARRIVED = { move: 1, attempt: 1, buckets: '0-9', from: 0, end: 1, begin: 20, afterAddedId: 70 }
const WITHOUT = { owns: '10-1365', away: [AWAY] }
const WITH = { owns: '0-9,1366-2730', arrived: [ARRIVED] }

let moving: AnnouncedMove
let plan: FaultPlan
/** Pauses of the walk, and the work of another process during a pause with this number. */
let pauses: number
let atPause: (pause: number) => unknown
let isPausing: boolean
/** Rows of a bucket that moves from shard 0 to shard 1, and of others on these shards. */
let moved: Row
let first: Row
let second: Row
let reads: (readonly [shard: number, after: number])[]

beforeEach(async () => {
  plan = () => undefined
  pauses = 0
  atPause = () => undefined
  isPausing = false
  const time = leapingTime()
  moving = await announcedMove((call) => plan(call), {
    ...time,
    async sleep(milliseconds, signal) {
      if (milliseconds !== 50) return time.sleep(milliseconds, signal)
      await atPause(++pauses)
      isPausing = true
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
      await time.sleep(milliseconds, signal)
      isPausing = false
    },
  })
  moved = rowIn(0, 9)
  first = rowIn(10, 1_365)
  second = rowIn(1_366, 2_730)
  reads = []
})

function rowIn(from: number, to: number): Row {
  for (;;) {
    const id = moving.work.context.router.newId()
    const bucket = bucketOfId(id)
    if (bucket >= from && bucket <= to) return { id }
  }
}

/** Reads these rows of the shards. `during` runs before the rows of a shard are given. */
function reader(
  rows: Readonly<Record<number, readonly Row[]>>,
  during: (shard: number) => unknown = () => undefined,
): ReadRuns {
  return async function* (shard, after) {
    reads.push([shard, after])
    await during(shard)
    const found = rows[shard]
    if (found !== undefined) yield found
  }
}

async function allOf(walk: AsyncIterable<readonly [rows: readonly Row[], shard: number]>) {
  const found: (readonly [row: Row, shard: number])[] = []
  for await (const [rows, shard] of walk) {
    expect(rows).not.toEqual([])
    for (const row of rows) found.push([row, shard])
  }
  return found
}

/** Moves the buckets from shard 0 to shard 1 at once. */
async function handOver(): Promise<void> {
  await moving.setServes(0, WITHOUT)
  await moving.setServes(1, WITH)
}

describe('rows that were read', () => {
  test('a row counts no more when its shard has given the bucket up', async () => {
    const watch = await watchOwned(moving.work.context, 0, {})
    expect(await watch.owned([moved, first])).toEqual([moved, first])
    await moving.setServes(0, WITHOUT)
    expect(await watch.owned([moved, first])).toEqual([first])
    expect(watch.kept.has(bucketOfId(moved.id))).toBe(false)
    expect(watch.kept.has(bucketOfId(first.id))).toBe(true)
  })

  test('a copy counts from the look after the one by which its shard has begun', async () => {
    const watch = await watchOwned(moving.work.context, 1, {})
    expect(await watch.owned([moved, second])).toEqual([second])
    await moving.setServes(0, WITHOUT)
    await moving.work.context.catalog.reload()
    // The shard is the next owner, and has not begun.
    expect(await watch.owned([moved, second])).toEqual([second])
    expect(await (await watchOwned(moving.work.context, 1, {})).owned([moved, second])).toEqual([second])
    await moving.setServes(1, WITH)
    expect(await watch.owned([moved, second])).toEqual([second])
    expect(await watch.owned([moved, second])).toEqual([moved, second])
    expect(watch.kept.has(bucketOfId(moved.id))).toBe(false)
  })

  test('a row of a bucket that has left and come back in between does not count', async () => {
    const watch = await watchOwned(moving.work.context, 0, {})
    const back = { ...ARRIVED, move: 2, from: 1, begin: 50 }
    await moving.setServes(0, { owns: OWNED[0], arrived: [back] })
    expect(await watch.owned([moved, first])).toEqual([first])
    expect(await watch.owned([moved, first])).toEqual([moved, first])
    expect(watch.kept.has(bucketOfId(moved.id))).toBe(false)
  })
})

describe('a walk over all shards', () => {
  test('a bucket that is handed over during its reading is read again behind the place of its move', async () => {
    const { context } = moving.work
    const rows = { 0: [moved, first], 1: [second, moved] }
    let isOver = false
    const read = reader(rows, async (shard) => {
      if (shard !== 1 || isOver) return
      isOver = true
      await handOver()
    })
    // Shard 0 is read before the hand-over, and shard 1 during it.
    expect(await allOf(walkOwned(context, read, {}))).toEqual([
      [moved, 0],
      [first, 0],
      [second, 1],
    ])
    expect(reads.map(([shard]) => shard)).toEqual([0, 1, 2])
    reads = []
    const unread = new Set([bucketOfId(moved.id), bucketOfId(second.id)])
    expect(await allOf(walkUnread(context, unread, reader(rows), {}))).toEqual([
      [second, 1],
      [moved, 1],
    ])
    expect(reads).toEqual([[1, 0]])
    reads = []
    expect(await allOf(walkUnread(context, new Set([bucketOfId(moved.id)]), reader(rows), {}))).toEqual([
      [moved, 1],
    ])
    expect(reads).toEqual([[1, 70]])
  })

  test('a bucket that leaves the shard that is read is read at its new shard', async () => {
    const rows = { 0: [moved, first], 1: [second, moved] }
    const read = reader(rows, async (shard) => {
      if (shard === 0) await moving.setServes(0, WITHOUT)
      if (shard === 2) await moving.setServes(1, WITH)
    })
    expect(await allOf(walkOwned(moving.work.context, read, {}))).toEqual([
      [first, 0],
      [second, 1],
      [moved, 1],
    ])
    expect(reads).toEqual([
      [0, 0],
      [1, 0],
      [2, 0],
      [1, 70],
    ])
  })

  test('a bucket is read at its new shard when its old shard has been emptied before it was read', async () => {
    const read = reader({ 1: [second, moved] }, (shard) => (shard === 0 ? handOver() : undefined))
    expect(await allOf(walkOwned(moving.work.context, read, {}))).toEqual([
      [second, 1],
      [moved, 1],
    ])
  })

  test('a bucket that was read whole is not read again at its next shard', async () => {
    const rows = { 0: [moved, first], 1: [moved, second], 2: [moved] }
    let isOver = false
    plan = ({ shard, operation }) => {
      if (isOver || shard !== 1 || operation !== 'floor' || reads.length === 0) return undefined
      isOver = true
      return { before: handOver }
    }
    expect(await allOf(walkOwned(moving.work.context, reader(rows), {}))).toEqual([
      [moved, 0],
      [first, 0],
      [second, 1],
    ])
    expect(isOver).toBe(true)
  })

  test('a walk reads a shard from its beginning, although all of its buckets have arrived', async () => {
    await moving.setServes(0, WITHOUT)
    await moving.setServes(1, { owns: '0-9', arrived: [ARRIVED] })
    await moving.setServes(2, { owns: '1366-4095' })
    await allOf(walkOwned(moving.work.context, reader({}), {}))
    expect(reads.map(([, after]) => after)).toEqual([0, 0, 0])
  })

  test('a walk rejects with the first error of a shard that was not removed', async () => {
    for (const code of ['SHARD_UNAVAILABLE', 'SHARD_DENIED'] as const) {
      let isDown = true
      const failing = reader({}, (shard) => {
        if (shard !== 1 || !isDown) return
        isDown = false
        throw new LooseleafError(code, 'A fault on purpose.')
      })
      await expect(allOf(walkOwned(moving.work.context, failing, {}))).rejects.toMatchObject({ code })
    }
  })

  /** Removes shard 2 while its rows are read, which fails with this error. */
  function removeWith(code: 'SHARD_UNAVAILABLE' | 'SHARD_DENIED'): ReadRuns {
    const third = rowIn(2_731, 4_095)
    return reader({ 0: [first], 1: [second, third] }, async (shard) => {
      if (shard !== 2) return
      await moving.setServes(1, { owns: '1366-4095' })
      await moving.setServes(2, { owns: '' })
      await changeCatalogContents(moving.driver, ({ layout, ...contents }) => {
        const shards = layout!.shards
          .with(1, { name: 'memory 1', buckets: '1366-4095' })
          .with(2, { name: 'memory 2', buckets: '', state: 'removed', away: [] })
        return { ...contents, layout: { ...layout!, shards } }
      })
      throw new LooseleafError(code, 'The server is gone.')
    })
  }

  test('a walk goes on after an outage of a shard that was removed meanwhile', async () => {
    const walk = walkOwned(moving.work.context, removeWith('SHARD_UNAVAILABLE'), {})
    expect((await allOf(walk)).map(([, shard]) => shard)).toEqual([0, 1, 1])
    expect(reads.map(([shard]) => shard)).toEqual([0, 1, 2, 1])
    let loads = 0
    plan = ({ operation }) => void (operation === 'load' && loads++)
    await allOf(walkOwned(moving.work.context, reader({}), {}))
    expect(loads).toBe(0)
  })

  test('a walk rejects with an error of a removed shard that is no outage', async () => {
    const walk = walkOwned(moving.work.context, removeWith('SHARD_DENIED'), {})
    await expect(allOf(walk)).rejects.toMatchObject({ code: 'SHARD_DENIED' })
  })
})

describe('a bucket that no shard serves', () => {
  const walk = () => {
    const unread = new Set([bucketOfId(moved.id)])
    return allOf(walkUnread(moving.work.context, unread, reader({ 1: [second, moved] }), {}))
  }

  test('a walk waits until its new shard begins, and reads no other shard meanwhile', async () => {
    await moving.setServes(0, WITHOUT)
    atPause = (pause) => (pause === 3 ? moving.setServes(1, WITH) : undefined)
    let isEarly = false
    plan = ({ operation }) => {
      if (operation === 'load' && isPausing) isEarly = true
      return undefined
    }
    expect(await walk()).toEqual([[moved, 1]])
    expect(reads).toEqual([[1, 70]])
    expect(pauses).toBe(3)
    expect(isEarly).toBe(false)
  })

  test('a walk lets it begin at its new shard', async () => {
    const { attempt } = await moving.begin()
    const { owns } = WITHOUT
    await moving.setServes(0, { owns, away: [{ ...AWAY, attempt }] })
    expect(await walk()).toEqual([[moved, 1]])
    expect((await moving.servesOf(1)).owns).toBe(WITH.owns)
    expect(pauses).toBe(1)
  })

  test('a walk rejects if its new shard cannot begin because of an error', async () => {
    await moving.setServes(0, WITHOUT)
    const denied = new LooseleafError('SHARD_DENIED', 'A fault on purpose.')
    plan = ({ shard, operation }) =>
      shard === 1 && operation === 'flush' ? { before: () => Promise.reject(denied) } : undefined
    await expect(walk()).rejects.toBe(denied)
    expect(pauses).toBe(0)
  })

  test('a walk rejects with SHARD_BUSY after 200 looks', async () => {
    await moving.setServes(0, WITHOUT)
    await expect(walk()).rejects.toMatchObject({
      code: 'SHARD_BUSY',
      message: expect.stringContaining('200 times in a row'),
    })
    expect([pauses, reads]).toEqual([199, []])
  })
})
