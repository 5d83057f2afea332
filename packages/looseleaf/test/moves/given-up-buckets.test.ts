import { LooseleafError } from '@looseleaf/core'
import type { StoreLayout } from '@looseleaf/core/internal'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import {
  beginTarget,
  handOver,
  loadOwn,
  loadTimed,
  lostByTarget,
  seal,
  unseal,
  type MoveWork,
} from '@looseleaf/protocol/internal'
import type { FaultPlan } from '@looseleaf/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import { announcedMove, BUCKETS, endedFor, OWNED, TAKEN_OVER, type AnnouncedMove } from './announced-move.ts'

/** A record of another move on the same shard. */
const OTHER = { move: 9, attempt: 1, buckets: '100-101' }

let moving: AnnouncedMove
let work: MoveWork
let plan: FaultPlan

beforeEach(async () => {
  plan = () => undefined
  moving = await announcedMove((call) => plan(call))
  work = moving.work
})

/** Gives buckets up at the source, with a seal. Returns the number of the attempt. */
async function giveUp(group: string): Promise<number> {
  const attempt = await moving.begin()
  const sealed = await seal(work, attempt, group)
  expect(await handOver(work, attempt, group, sealed, { end: 5, last: undefined })).toBeDefined()
  return attempt.attempt
}

describe('a seal', () => {
  test('a group is sealed, given up, and begun, and the rest stays in its move', async () => {
    const other = { ...OTHER, to: 2 }
    const away = { ...OTHER, move: 8, buckets: '2800', to: 2, end: 1 }
    await moving.setServes(0, { owns: OWNED[0], leaving: [other], away: [away] })
    const attempt = await moving.begin()
    const sealed = await seal(work, attempt, '0-3')
    const { attempt: number } = attempt
    const leaving = { move: 1, attempt: number, buckets: BUCKETS, to: 1 }
    expect(sealed.serves.leaving).toEqual([other, { ...leaving, sealed: '0-3' }])
    const record = { move: 1, attempt: number, buckets: '0-3', to: 1, end: 7, last: undefined }
    expect(await handOver(work, attempt, '0-3', sealed, { end: 7, last: undefined })).toEqual(record)
    expect(await moving.servesOf(0)).toMatchObject({
      owns: '4-1365',
      leaving: [other, { ...leaving, buckets: '4-9' }],
      away: [away, { move: 1, buckets: '0-3', end: 7 }],
    })
    await beginTarget(work.context, 1)
    expect(await moving.servesOf(1)).toMatchObject({
      owns: '0-3,1366-2730',
      coming: [{ move: 1, attempt: number, buckets: '4-9', from: 0 }],
      arrived: [{ move: 1, attempt: number, buckets: '0-3', from: 0, end: 7 }],
    })
    // The last group leaves no record of the move that leaves.
    const rest = await seal(work, attempt, '4-9')
    await handOver(work, attempt, '4-9', rest, { end: 7, last: undefined })
    await beginTarget(work.context, 1)
    expect((await moving.servesOf(0)).leaving).toEqual([other])
    expect(await moving.servesOf(1)).toMatchObject({ owns: '0-9,1366-2730' })
    expect((await moving.servesOf(1)).coming).toBeUndefined()
  })

  test('a seal that was taken away is no token, and the group stays', async () => {
    const attempt = await moving.begin()
    const sealed = await seal(work, attempt, '0-3')
    await unseal(work, attempt)
    expect((await moving.servesOf(0)).leaving).toEqual([
      { move: 1, attempt: attempt.attempt, buckets: BUCKETS, to: 1 },
    ])
    expect(await handOver(work, attempt, '0-3', sealed, { end: 7, last: undefined })).toBeUndefined()
    expect(await moving.servesOf(0)).toMatchObject({ owns: OWNED[0] })
    expect((await moving.servesOf(0)).away).toBeUndefined()
    const again = await seal(work, attempt, '0-3')
    expect(again.catalog.epoch).toBeGreaterThan(sealed.catalog.epoch)
    // A seal that is there is returned as it is.
    expect((await seal(work, attempt, '0-3')).catalog.epoch).toBe(again.catalog.epoch)
  })

  test('a token without a record of the move gives nothing up', async () => {
    const attempt = await moving.begin()
    const sealed = await seal(work, attempt, '0-3')
    const token = { ...sealed, serves: { owns: OWNED[0] } }
    await expect(handOver(work, attempt, '0-3', token, { end: 7, last: undefined })).rejects.toMatchObject(
      endedFor('another process has ended it'),
    )
    expect(await moving.servesOf(0)).toEqual(sealed.serves)
  })

  test('a seal that is not there is not taken away, and neither is that of another attempt', async () => {
    const first = await moving.begin()
    const before = await moving.epochOf(0)
    await unseal(work, first)
    expect(await moving.epochOf(0)).toBe(before)
    const second = await moving.begin()
    await seal(work, second, '0-3')
    await unseal(work, first)
    expect((await moving.servesOf(0)).leaving).toMatchObject([{ sealed: '0-3' }])
    await expect(seal(work, first, '0-3')).rejects.toMatchObject(TAKEN_OVER)
    // A source that has gone back to an earlier state has no record of the move.
    await moving.setServes(0, { owns: OWNED[0] })
    await unseal(work, second)
    expect(await moving.servesOf(0)).toEqual({ owns: OWNED[0] })
    await expect(seal(work, second, '0-3')).rejects.toMatchObject(TAKEN_OVER)
  })

  test('the seal of a move is taken away although the attempt of another move has the same number', async () => {
    const attempt = await moving.begin()
    const { owns, leaving } = (await seal(work, attempt, '0-3')).serves
    const other = { ...OTHER, attempt: attempt.attempt, to: 2 }
    await moving.setServes(0, { owns, leaving: [other, ...leaving!] })
    await unseal(work, attempt)
    expect((await moving.servesOf(0)).leaving).toEqual([
      other,
      { move: 1, attempt: attempt.attempt, buckets: BUCKETS, to: 1 },
    ])
  })

  test('a group is sealed by one statement, or by more if the source has changed since the mover read it', async () => {
    const attempt = await moving.begin()
    const known = await loadTimed(work.context, 0, {})
    const calls: string[] = []
    plan = ({ operation }) => void calls.push(operation)
    await seal(work, attempt, '4-5', known)
    expect(calls).toEqual(['change'])
    const sealed = await seal(work, attempt, '0-3', known)
    expect(sealed.catalog.epoch).toBe(await moving.epochOf(0))
    expect((await moving.servesOf(0)).leaving).toMatchObject([{ sealed: '0-3' }])
  })

  test('a seal that a crash undoes while it is flushed is made again', async () => {
    const attempt = await moving.begin()
    const { serves } = await loadOwn(work.context, 0, {})
    await seal(work, attempt, '0-3')
    let flushes = 0
    plan = ({ operation }) =>
      operation === 'flush' && ++flushes === 1 ? { before: () => moving.setServes(0, serves) } : undefined
    const sealed = await seal(work, attempt, '0-3')
    expect(sealed.catalog.epoch).toBe(await moving.epochOf(0))
    expect((await moving.servesOf(0)).leaving).toMatchObject([{ sealed: '0-3' }])
  })

  test.each([
    new LooseleafError('SHARD_DENIED', 'The server denies it.'),
    Object.assign(new Error('A mistake.'), { unknownOutcome: true }),
  ])('a seal that fails for another reason than a lost answer rejects at once: %s', async (mistake) => {
    const attempt = await moving.begin()
    let changes = 0
    plan = ({ operation }) =>
      operation === 'change' && ++changes > 0 ? { before: () => Promise.reject(mistake) } : undefined
    await expect(seal(work, attempt, '0-3')).rejects.toBe(mistake)
    expect(changes).toBe(1)
  })

  test.each(['made', 'not made'])(
    'a hand-over without an answer that was %s is found out about',
    async (fate) => {
      const attempt = await moving.begin()
      const sealed = await seal(work, attempt, '0-3')
      const lost = (): Promise<never> =>
        Promise.reject(new LooseleafError('OUTCOME_UNKNOWN', 'The answer was lost.'))
      let changes = 0
      plan = ({ operation }) => {
        if (operation !== 'change' || changes++ > 0) return undefined
        return fate === 'made' ? { after: lost } : { before: lost }
      }
      const away = await handOver(work, attempt, '0-3', sealed, { end: 7, last: undefined })
      const record = { move: 1, attempt: attempt.attempt, to: 1 }
      expect(away).toEqual(
        fate === 'made' ? { ...record, buckets: '0-3', end: 7, last: undefined } : undefined,
      )
      const { owns, leaving } = await moving.servesOf(0)
      expect(owns).toBe(fate === 'made' ? '4-1365' : OWNED[0])
      expect(leaving).toEqual([{ ...record, buckets: fate === 'made' ? '4-9' : BUCKETS }])
      // The change that is still on its way has no effect.
      expect(await moving.epochOf(0)).not.toBe(sealed.catalog.epoch)
    },
  )
})

test('a seal gives up after fifty changes of the catalog by others', async () => {
  const attempt = await moving.begin()
  let changes = 0
  plan = ({ operation }) => {
    if (operation !== 'change') return undefined
    changes++
    return { before: () => Promise.reject(new LooseleafError('OUTCOME_UNKNOWN', 'The answer was lost.')) }
  }
  await expect(seal(work, attempt, '0-3')).rejects.toMatchObject({
    code: 'CONFLICT',
    shard: 'memory 0',
    message:
      'Other processes changed the buckets of memory 0 50 times in a row. Try again when they are done.',
  })
  expect(changes).toBe(50)
})

/** Changes the layout on all shards, and returns the buckets of shard 2. */
async function ownedIn(change: (layout: StoreLayout) => StoreLayout | undefined): Promise<string> {
  await changeCatalogContents(moving.driver, ({ layout, ...contents }) => ({
    ...contents,
    layout: change(layout!),
  }))
  return (await moving.servesOf(2)).owns
}

test('a shard without a record of its own has the buckets of the layout, or none', async () => {
  expect((await moving.servesOf(2)).owns).toBe(OWNED[2])
  const joining = { name: 'memory 2', state: 'joining' } as const
  expect(await ownedIn((layout) => ({ ...layout, shards: layout.shards.with(2, joining) }))).toBe('')
})

test('no shard of a store without a layout owns a bucket or goes on with a move', async () => {
  const attempt = await moving.begin()
  await ownedIn((layout) => ({ ...layout, moves: undefined }))
  await expect(seal(work, attempt, '0-3')).rejects.toMatchObject(endedFor('it has ended'))
  expect(await ownedIn(() => undefined)).toBe('')
  await expect(seal(work, attempt, '0-3')).rejects.toMatchObject(endedFor('it has ended'))
})

describe('buckets that were given up', () => {
  test('a target that has begun with them has lost none, also by a later move', async () => {
    const lost = async (): Promise<string> => (await lostByTarget(work)).buckets
    expect(await lost()).toBe('')
    const attempt = await giveUp('0-3')
    expect(await lostByTarget(work)).toEqual({ attempt, buckets: '0-3' })
    await beginTarget(work.context, 1)
    expect(await lost()).toBe('')
    const arrival = { move: 1, attempt: 1, buckets: '0-3', from: 0, end: 5, begin: 6, afterAddedId: 0 }
    await moving.setServes(1, { owns: '0-3,1366-2730', arrived: [{ ...arrival, move: 5 }] })
    expect(await lost()).toBe('')
    await moving.setServes(1, { owns: '0-3,1366-2730', arrived: [{ ...arrival, move: 0 }] })
    expect(await lost()).toBe('0-3')
    await moving.setServes(1, { owns: '0-3,1366-2730', arrived: [{ ...arrival, buckets: '0-2' }] })
    expect(await lost()).toBe('3')
  })

  test('a target begins with its own attempt only, and once', async () => {
    await giveUp('0-3')
    const { coming } = await moving.servesOf(1)
    const [record] = coming!
    await moving.setServes(1, { owns: OWNED[1], coming: [{ ...record!, attempt: 2 }] })
    const flushed: number[] = []
    plan = ({ shard, operation }) => void (operation === 'flush' && flushed.push(shard))
    await beginTarget(work.context, 1)
    // The source has nothing for it, so its record need not be on disk.
    expect(flushed).toEqual([1])
    expect((await moving.servesOf(1)).owns).toBe(OWNED[1])
    await moving.setServes(1, { owns: OWNED[1], coming: [record!] })
    // Shard 2 is not their target.
    await beginTarget(work.context, 2)
    expect((await moving.servesOf(2)).owns).toBe(OWNED[2])
    await beginTarget(work.context, 1)
    const { catalog, serves } = await loadOwn(work.context, 1, {})
    expect(serves.owns).toBe('0-3,1366-2730')
    expect(serves.arrived).toHaveLength(1)
    await beginTarget(work.context, 1)
    expect(await moving.epochOf(1)).toBe(catalog.epoch)
  })

  test('a bucket that comes again has its last arrival only', async () => {
    const arrived = { move: 0, attempt: 1, buckets: '0-20', from: 2, end: 1, begin: 2, afterAddedId: 0 }
    const serves = await moving.servesOf(1)
    await moving.setServes(1, { ...serves, arrived: [arrived] })
    await giveUp('0-3')
    await beginTarget(work.context, 1)
    expect((await moving.servesOf(1)).arrived).toMatchObject([
      { move: 0, buckets: '4-20' },
      { move: 1, buckets: '0-3' },
    ])
  })
})

test('a seal that is there is read again after a flushed commit, because a crash may undo it', async () => {
  const attempt = await moving.begin()
  const sealed = await seal(work, attempt, '0-3')
  const calls: string[] = []
  plan = ({ operation }) => {
    if (operation !== 'flush') return { before: () => void calls.push(operation) }
    return {
      before: () => new Promise((resolve) => setTimeout(resolve, 20)),
      after: () => void calls.push('flushed'),
    }
  }
  expect((await seal(work, attempt, '0-3')).catalog.epoch).toBe(sealed.catalog.epoch)
  expect(calls).toEqual(['load', 'flushed', 'load'])
})
