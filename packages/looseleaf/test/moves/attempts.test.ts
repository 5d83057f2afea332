import type { EntityId } from '@looseleaf/core'
import { come, hasKept, leave, loadOwn, renewTarget, type MoveWork } from '@looseleaf/protocol/internal'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  announcedMove,
  BUCKETS,
  endedFor,
  OWNED,
  TAKEN_OVER,
  UNKNOWN,
  type AnnouncedMove,
} from './announced-move.ts'

/** A record of another move on the same shard. */
const OTHER = { move: 9, attempt: 1, buckets: '100-101' }
/** A copy that no target has. */
const LOST_COPY = { id: '01890a5d-ac96-774b-bcce-b302099a8057' as EntityId, updated: 1 }

let moving: AnnouncedMove
let work: MoveWork

beforeEach(async () => {
  moving = await announcedMove()
  work = moving.work
})

describe('an attempt at the source', () => {
  test('each attempt has a greater number than those that source and target know, and keeps records of other moves', async () => {
    const other = { ...OTHER, to: 2 }
    await moving.setServes(0, { owns: OWNED[0], leaving: [other] })
    const first = (await leave(work))!
    expect(first).toMatchObject({ buckets: BUCKETS, lost: '' })
    const second = (await leave(work))!
    expect(second.attempt).toBeGreaterThan(first.attempt)
    expect((await moving.servesOf(0)).leaving).toEqual([
      other,
      { move: 1, attempt: second.attempt, buckets: BUCKETS, to: 1 },
    ])
    const later = second.attempt + 1e12
    const coming = { move: 1, attempt: later, buckets: BUCKETS, from: 0, afterAddedId: 0 }
    await moving.setServes(1, { owns: OWNED[1], coming: [coming] })
    expect(await leave(work)).toMatchObject({ attempt: later + 1 })
    const away = { move: 1, attempt: later + 20, buckets: '0-3', to: 1, end: 1 }
    await moving.setServes(0, { owns: '4-1365', away: [away] })
    expect(await leave(work)).toEqual({ attempt: later + 21, buckets: '4-9', lost: '' })
  })

  test('an attempt at lost buckets has another number than one that ended without a record', async () => {
    const away = { move: 1, attempt: 1, buckets: BUCKETS, to: 1, end: 1 }
    await moving.setServes(0, { owns: '10-1365', away: [away] })
    const first = (await leave(work, BUCKETS))!
    // The target has begun meanwhile, and loses the buckets again.
    expect(await leave(work, '')).toBeUndefined()
    expect((await leave(work, BUCKETS))!.attempt).toBeGreaterThan(first.attempt)
  })

  test('an attempt has another number than one that the source has lost', async () => {
    const source = moving.driver.shards[0]!
    const before = (await source.catalog.load())!
    const first = (await leave(work))!
    // A failover takes longer than a tick of the clock.
    while ((await source.now()) <= first.attempt);
    expect(await source.catalog.change(before, await moving.epochOf(0))).toBe(true)
    expect((await leave(work))!.attempt).toBeGreaterThan(first.attempt)
  })

  test('no attempt begins when the source has given all buckets up, or does not own the rest', async () => {
    await moving.setServes(0, {
      owns: '10-1365',
      away: [{ move: 1, attempt: 1, buckets: BUCKETS, to: 1, end: 1 }],
    })
    const epoch = await moving.epochOf(0)
    expect(await leave(work)).toBeUndefined()
    expect(await moving.epochOf(0)).toBe(epoch)
    await moving.setServes(0, { owns: '3-1365' })
    await expect(leave(work)).rejects.toMatchObject(endedFor('shard 0 does not own all of its buckets'))
  })

  test('no attempt begins once the move has ended, or is being undone', async () => {
    await moving.setMoves([{ ...work.move, phase: 'undoing' }])
    await expect(leave(work)).rejects.toMatchObject(endedFor('its phase is undoing'))
    await moving.setMoves([{ id: 6, from: 0, to: 2, buckets: '1000', phase: 'both' }])
    await expect(leave(work)).rejects.toMatchObject(endedFor('it has ended'))
  })
})

describe('an attempt at the target', () => {
  test('the target keeps the place behind its older rows, and records of other moves', async () => {
    const other = { ...OTHER, from: 2, afterAddedId: 3 }
    const earlier = { move: 1, attempt: 1, buckets: BUCKETS, from: 0, afterAddedId: 40 }
    await moving.setServes(1, { owns: OWNED[1], coming: [other, earlier] })
    await leave(work)
    const attempt = (await leave(work))!
    const { epoch } = (await come(work, attempt, { attempt: 1, last: undefined }))!
    const own = await loadOwn(work.context, 1, {})
    expect(own.serves.coming).toEqual([other, { ...earlier, attempt: attempt.attempt }])
    expect(own.catalog.epoch).toBe(epoch)
    // A call that is repeated changes nothing.
    expect(await come(work, attempt, { attempt: 1, last: undefined })).toMatchObject({ epoch })
  })

  test('a target begins with what an earlier attempt has handed over before it gets another one', async () => {
    const earlier = (await moving.begin()).attempt
    const away = { move: 1, attempt: earlier, buckets: '0-3', to: 1, end: 1 }
    await moving.setServes(0, { owns: '4-1365', away: [away] })
    const attempt = (await leave(work))!
    expect(attempt.buckets).toBe('4-9')
    // It could not begin by the later attempt.
    await moving.setServes(1, {
      owns: OWNED[1],
      coming: [{ move: 1, attempt: earlier, buckets: '0-3', from: 0, afterAddedId: 0 }],
    })
    expect(await come(work, attempt, UNKNOWN)).toBeDefined()
    expect(await moving.servesOf(1)).toMatchObject({
      owns: `0-3,${OWNED[1]}`,
      coming: [{ attempt: attempt.attempt, buckets: '4-9' }],
    })
  })

  test('an attempt that is older than that of the target is over', async () => {
    const first = (await leave(work))!
    await come(work, (await leave(work))!, UNKNOWN)
    await expect(come(work, first, UNKNOWN)).rejects.toMatchObject(TAKEN_OVER)
  })

  test('a target that owns a bucket already gets no copy of it', async () => {
    await moving.setServes(1, { owns: '5,1366-2730' })
    await expect(come(work, (await leave(work))!, UNKNOWN)).rejects.toMatchObject(
      endedFor('shard 1 owns some of its buckets already'),
    )
  })

  test('an attempt at lost buckets begins anew if the target has come back with one of them', async () => {
    const away = { move: 1, attempt: 1, buckets: '0-4', to: 1, end: 1 }
    await moving.setServes(0, { owns: '5-1365', away: [away] })
    const attempt = (await leave(work, '0-4'))!
    expect(attempt).toMatchObject({ buckets: BUCKETS, lost: '0-4' })
    await moving.setServes(1, { owns: '3,1366-2730' })
    await expect(come(work, attempt, UNKNOWN)).rejects.toMatchObject({
      code: 'STALE_EPOCH',
      message: expect.stringContaining('serves buckets that were about to be copied again'),
    })
    expect((await moving.servesOf(1)).coming).toBeUndefined()
  })

  test('an attempt does not come while the move is being undone', async () => {
    const begun = await moving.begin()
    const attempt = (await leave(work))!
    await moving.setMoves([{ ...work.move, phase: 'undoing' }])
    const error = endedFor('its phase is undoing')
    await expect(come(work, attempt, UNKNOWN)).rejects.toMatchObject(error)
    await expect(renewTarget(work, begun, UNKNOWN)).rejects.toMatchObject(error)
  })

  test.each([
    ['lacks the announcement', async () => moving.setMoves([]), UNKNOWN],
    ['lacks the known attempt', async () => undefined, { attempt: 1, last: undefined }],
    [
      'has another attempt than the known one',
      async () =>
        moving.setServes(1, {
          owns: OWNED[1],
          coming: [{ move: 1, attempt: 2, buckets: BUCKETS, from: 0, afterAddedId: 0 }],
        }),
      { attempt: 1, last: undefined },
    ],
    [
      'has not begun with a bucket that it had begun with',
      async () =>
        moving.setServes(1, {
          owns: OWNED[1],
          coming: [{ move: 1, attempt: 1, buckets: '0-10', from: 0, afterAddedId: 0 }],
        }),
      { attempt: 1, last: undefined },
    ],
    ['lacks the last copy', async () => undefined, { attempt: 0, last: LOST_COPY }],
  ])('a target that %s went back to an earlier state', async (_, change, known) => {
    const attempt = (await leave(work))!
    await change()
    expect(await come(work, { ...attempt, attempt: 3 }, known)).toBeUndefined()
  })

  test('a renewal changes the epoch alone, and sets the place that it is given', async () => {
    await moving.setServes(1, { owns: OWNED[1], coming: [{ ...OTHER, from: 2, afterAddedId: 3 }] })
    const attempt = await moving.begin()
    const before = await loadOwn(work.context, 1, {})
    const renewed = (await renewTarget(work, attempt, UNKNOWN))!
    const after = await loadOwn(work.context, 1, {})
    expect(after.serves).toEqual(before.serves)
    expect(after.catalog.epoch).toBe(renewed.epoch)
    expect(renewed.epoch).toBeGreaterThan(before.catalog.epoch)
    await renewTarget(work, attempt, { ...UNKNOWN, afterAddedId: 50 })
    expect((await moving.servesOf(1)).coming).toMatchObject([{ afterAddedId: 3 }, { afterAddedId: 50 }])
    await renewTarget(work, attempt, UNKNOWN)
    expect((await moving.servesOf(1)).coming).toMatchObject([{ afterAddedId: 3 }, { afterAddedId: 50 }])
  })

  test('a renewal tells a lost attempt from one that another process has taken over', async () => {
    const attempt = await moving.begin()
    const later = await moving.begin()
    const epoch = await moving.epochOf(1)
    await expect(renewTarget(work, attempt, UNKNOWN)).rejects.toMatchObject(TAKEN_OVER)
    expect(await renewTarget(work, { ...later, attempt: later.attempt + 1 }, UNKNOWN)).toBeUndefined()
    expect(await moving.epochOf(1)).toBe(epoch)
    expect(await renewTarget(work, later, { last: LOST_COPY })).toBeUndefined()
    await moving.setServes(1, { owns: OWNED[1] })
    expect(await renewTarget(work, later, UNKNOWN)).toBeUndefined()
    expect(await hasKept(work, attempt, UNKNOWN)).toBe(false)
  })

  test('a target that has begun with a bucket which was not handed over gets no renewal', async () => {
    const attempt = await moving.begin()
    await moving.setServes(1, {
      owns: `3,${OWNED[1]}`,
      coming: [{ ...(await moving.servesOf(1)).coming![0]!, buckets: '0-2,4-9' }],
    })
    await expect(renewTarget(work, attempt, UNKNOWN)).rejects.toMatchObject({
      code: 'STALE_EPOCH',
      message: expect.stringContaining('serves buckets that were about to be copied again') as string,
    })
  })

  test('a target without the announcement of the move gets no renewal, although it has the attempt', async () => {
    const attempt = await moving.begin()
    await moving.setMoves([])
    expect(await renewTarget(work, attempt, UNKNOWN)).toBeUndefined()
  })

  test('a target has kept an attempt with its buckets', async () => {
    const attempt = await moving.begin()
    expect(await hasKept(work, attempt, UNKNOWN)).toBe(true)
    expect(await hasKept(work, { ...attempt, attempt: 2 }, UNKNOWN)).toBe(false)
    expect(await hasKept(work, { ...attempt, buckets: '0-4' }, UNKNOWN)).toBe(false)
    expect(await hasKept(work, attempt, { last: LOST_COPY })).toBe(false)
  })
})
