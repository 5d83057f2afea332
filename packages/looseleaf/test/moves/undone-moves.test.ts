import { LooseleafError } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { keptRowsMs, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { handOver, seal, UNCHECKED_WAIT_MS, undoMove } from '@looseleaf/protocol/internal'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { announcedMove, BUCKETS, type AnnouncedMove } from './announced-move.ts'
import { loseEnd } from './ended-move.ts'

const DOWN = new LooseleafError('SHARD_UNAVAILABLE', 'It is down.')

test('an undo after the first group was handed over is withdrawn', async () => {
  const moving = await announcedMove()
  const { work } = moving
  const attempt = await moving.begin()
  const sealed = await seal(work, attempt, '0-3')
  await handOver(work, attempt, '0-3', sealed, { end: 7, last: undefined })
  const epoch = await moving.epochOf(0)
  expect(await undoMove(work)).toBeUndefined()
  expect(await moving.epochOf(0)).toBe(epoch)
  await moving.setMoves([{ ...work.move, phase: 'undoing' }])
  expect(await undoMove(work)).toBeUndefined()
  const { layout } = await work.context.catalog.reload()
  expect(layout!.moves).toMatchObject([{ id: 1, phase: 'both' }])
})

test('an undo ends the attempt after it is announced, and its announcement when no process reads by an earlier one', async () => {
  const steps: { phase: unknown; leaves: boolean; at: number }[] = []
  const time = leapingTime()
  let isWaiting = false
  const own = await announcedMove(
    ({ shard, operation, args }) => {
      const { layout, serves } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
      if (shard !== 0 || layout === undefined) return undefined
      const phase = layout.moves?.[0]?.phase
      const leaves = serves?.leaving !== undefined
      if (!isWaiting) steps.push({ phase, leaves, at: time.now() })
      return undefined
    },
    {
      now: time.now,
      async sleep(milliseconds, signal) {
        isWaiting = true
        await time.sleep(milliseconds, signal).finally(() => (isWaiting = false))
      },
    },
  )
  await own.begin()
  steps.length = 0
  const began = time.now()
  const ended = began + UNCHECKED_WAIT_MS + keptRowsMs(own.work.context.catalog.current())
  await undoMove(own.work)
  expect(steps).toEqual([
    { phase: 'undoing', leaves: true, at: began },
    { phase: 'undoing', leaves: false, at: began },
    { phase: undefined, leaves: false, at: ended },
  ])
  expect(time.now()).toBe(ended)
})

test('an undo leaves the attempt when the first group is handed over before the source has its announcement', async () => {
  let giveUp: (() => Promise<void>) | undefined
  const own = await announcedMove(({ shard, operation, args }) => {
    const { layout } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
    if (shard !== 0 || layout?.moves?.[0]?.phase !== 'undoing' || giveUp === undefined) return undefined
    const before = giveUp
    giveUp = undefined
    return { before }
  })
  const attempt = await own.begin()
  giveUp = async () => {
    const sealed = await seal(own.work, attempt, '0-3')
    await handOver(own.work, attempt, '0-3', sealed, { end: 7, last: undefined })
  }
  expect(await undoMove(own.work)).toBeUndefined()
  expect(giveUp).toBeUndefined()
  expect((await own.servesOf(0)).leaving).toMatchObject([{ buckets: '4-9' }])
  expect((await own.work.context.catalog.reload()).layout!.moves).toMatchObject([{ phase: 'both' }])
})

test('an undo keeps the record of the target while that does not know the end of the announcement', async () => {
  let isStuck = true
  const own = await announcedMove(({ shard, operation, args }) => {
    const { layout } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
    const isEnd = shard === 1 && layout?.moves?.length === 0
    return isStuck && isEnd ? { before: () => Promise.reject(DOWN) } : undefined
  })
  await own.begin()
  // The source has ended the announcement from the second time on.
  for (let times = 0; times < 2; times++) await expect(undoMove(own.work)).rejects.toBe(DOWN)
  expect((await own.servesOf(1)).coming).toHaveLength(1)
  isStuck = false
  expect(await undoMove(own.work)).toEqual({ entities: 0, rows: 0 })
  expect((await own.servesOf(1)).coming).toBeUndefined()
})

test('an undo rejects if the target loses the end of the move twice, and the next one removes its record', async () => {
  let flushes = -Infinity
  const own: AnnouncedMove = await announcedMove(({ shard, operation }) =>
    shard === 1 && operation === 'flush' && flushes >= 0 ? { before: loseSome } : undefined,
  )
  /** Lets the target lose the end in the look before the deletes, and in the one after it has got the end again. */
  async function loseSome(): Promise<void> {
    const { layout } = (await loadShardCatalog(own.driver.shards[1]!))!
    if (layout!.moves!.length > 0) return
    flushes++
    // The end is flushed when it is announced, and when it is completed: once before each look.
    if (flushes === 3 || flushes === 5) await loseEnd(own, 1, 'undoing')
  }
  await own.begin()
  flushes = 0
  await expect(undoMove(own.work)).rejects.toMatchObject({
    code: 'STALE_EPOCH',
    retryable: true,
    shard: 'memory 1',
    message: 'Move 1: memory 1 has lost the end of the move. Try again.',
  })
  expect(flushes).toBe(5)
  expect((await own.servesOf(1)).coming).toHaveLength(1)
  expect(await undoMove(own.work)).toEqual({ entities: 0, rows: 0 })
  expect((await own.servesOf(1)).coming).toBeUndefined()
})

test('an undo deletes no copies of buckets that another move brings by then', async () => {
  const moving = await announcedMove()
  await moving.begin()
  await moving.setMoves([{ id: 6, from: 2, to: 1, buckets: BUCKETS, phase: 'both' }])
  expect(await undoMove(moving.work)).toEqual({ entities: 0, rows: 0 })
  expect((await moving.servesOf(1)).coming).toBeUndefined()
})

test('an undo goes on if another process has ended its announcement', async () => {
  let ended = Infinity
  const own: AnnouncedMove = await announcedMove(({ shard, operation }) => {
    if (ended === Infinity || shard !== 0 || operation !== 'load') return undefined
    if (own.work.context.time.now() < ended) return undefined
    ended = Infinity
    return { before: () => own.setMoves([]) }
  })
  await own.begin()
  ended = own.work.context.time.now() + 1
  expect(await undoMove(own.work)).toEqual({ entities: 0, rows: 0 })
  expect(ended).toBe(Infinity)
  expect((await own.servesOf(1)).coming).toBeUndefined()
})
