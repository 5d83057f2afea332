import { randomBytes } from 'node:crypto'
import { isLooseleafError, LooseleafError, type EntityId } from '@looseleaf/core'
import { rangesInclude, withoutRanges } from '@looseleaf/core/internal'
import { beginTarget, loadOwn } from '@looseleaf/protocol/internal'
import type { ShardState } from '@looseleaf-tooling/kit/reference-driver'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'
import { byUser, GROUPS, isBegin, moveWith, sealedBy, servesOf } from './two-groups.ts'

const down = (): never => {
  throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard does not answer.', { shard: 'reference shard 1' })
}

test.each(['a later copy', 'the next attempt'] as const)(
  'an entity is copied again if the target loses it before a later copy (noticed by %s)',
  async (time) => {
    let step: 'first group' | 'lost copy' | 'crash' | 'over' = 'first group'
    const { move, writer, ids } = await moveWith((call, moving) => {
      const { shards } = moving
      const [lost, later] = moving.ids[1]
      if (step === 'first group' && isBegin(call))
        return {
          async after() {
            step = 'lost copy'
            await moving.writer.put({ n: 2, user: lost }, { id: lost })
          },
        }
      if (step === 'lost copy' && call.operation === 'receive') {
        step = 'crash'
        return { before: () => shards.hang(1) }
      }
      const isTime = time === 'the next attempt' ? call.shard === 1 : sealedBy(call) === GROUPS[1]
      if (step !== 'crash' || !isTime) return undefined
      step = 'over'
      return {
        async before() {
          shards.crash(1)
          if (time === 'the next attempt') down()
          await moving.writer.put({ n: 2, user: later }, { id: later })
        },
      }
    })
    expect(await move()).toMatchObject({ state: 'done' })
    expect(step).toBe('over')
    expect(await writer.get(ids[1][0])).toMatchObject({ n: 2 })
  },
)

test('entities are copied again if the target loses the first of several batches of a pass', async () => {
  // Too long for one statement together.
  const pages = randomBytes(3 * 1024 * 1024).toString('base64')
  let step: 'first group' | 'first batch' | 'later batch' | 'over' = 'first group'
  const { move, writer, ids } = await moveWith((call, moving) => {
    const target = moving.shards.reference.shards[1]!
    if (step === 'first group' && isBegin(call))
      return {
        async after() {
          step = 'first batch'
          for (const id of moving.ids[1]) await moving.writer.put({ n: 2, user: id, pages }, { id })
        },
      }
    if (call.operation !== 'receive') return undefined
    if (step === 'first batch') {
      step = 'later batch'
      const before = target.state()
      return { after: () => target.fallBack(before, 'everything') }
    }
    if (step === 'later batch') step = 'over'
    return undefined
  })
  expect(await move()).toMatchObject({ state: 'done' })
  expect(step).toBe('over')
  for (const id of ids[1]) expect(await writer.get(id)).toMatchObject({ n: 2 })
})

test('index rows are copied again if the target loses them after the comparison, before any group is sealed', async () => {
  let step: 'copy' | 'compare' | 'crash' | 'over' = 'copy'
  /** The attempt of each seal, and that of the target by then. */
  const sealed: (readonly [number, number | undefined])[] = []
  const { move, openFaulty, writer } = await moveWith((call, { shards, writer: observer }) => {
    const leaving = servesOf(call)?.leaving?.find((record) => record.sealed !== undefined)
    if (leaving !== undefined) {
      return {
        async before() {
          const { coming } = (await loadOwn(observer.context, 1, {})).serves
          sealed.push([leaving.attempt, coming?.[0]?.attempt])
        },
      }
    }
    if (step === 'copy' && call.shard === 1 && call.operation === 'upsert') {
      step = 'compare'
      return { before: () => shards.hang(1) }
    }
    if (step === 'compare' && call.operation === 'pageOfChecksums') step = 'crash'
    if (step !== 'crash' || call.shard !== 0 || call.operation !== 'raiseFloor') return undefined
    step = 'over'
    return { before: () => shards.crash(1) }
  })
  // Some rows are in the buckets that move.
  const users = Array.from({ length: 40 }, (_, n) => `user ${n}`)
  for (const user of users) await writer.put({ n: 1, user })
  expect(await move()).toMatchObject({ state: 'done' })
  expect(step).toBe('over')
  expect(sealed).toEqual(sealed.map(([attempt]) => [attempt, attempt]))
  expect(sealed).toHaveLength(2)
  const reader = await openFaulty()
  for (const user of users) expect((await reader.query(byUser, { user })).items).toMatchObject([{ user }])
})

test.each(['the mover', 'another process'] as const)(
  'a target that loses the last copy after it was asked for it begins when the move has copied the group again (begun by %s)',
  async (beginner) => {
    let step: 'seal' | 'copy' | 'begin' | 'over' = 'seal'
    const { move, openFaulty, writer, ids } = await moveWith((call, moving) => {
      const { shards } = moving
      const [id] = moving.ids[0]
      const target = shards.reference.shards[1]!
      if (step === 'seal' && sealedBy(call) !== undefined) {
        step = 'copy'
        return { before: async () => void (await moving.writer.put({ n: 2, user: id }, { id })) }
      }
      if (step === 'copy' && call.operation === 'receive') {
        step = 'begin'
        before = target.state()
        return undefined
      }
      if (step !== 'begin' || !isBegin(call)) return undefined
      if (beginner === 'another process' && !isStopped) {
        stop()
        isStopped = true
        return { crash: 'before' }
      }
      step = 'over'
      return { before: () => target.fallBack(before!, 'everything') }
    })
    let before: ShardState | undefined
    let isStopped = false
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
    const moved = move()
    if (beginner === 'the mover') expect(await moved).toMatchObject({ state: 'done' })
    else {
      await stopped
      await beginTarget((await openFaulty()).context, 1)
      expect((await loadOwn(writer.context, 1, {})).serves.arrived).toBeUndefined()
      const { problems, moves } = await (await openFaulty()).shards.repair()
      expect({ problems, moves }).toMatchObject({ problems: [], moves: [{ state: 'done' }] })
    }
    expect(step).toBe('over')
    expect(await writer.get(ids[0][0])).toMatchObject({ n: 2 })
  },
)

/** A short run tries one of so many calls, beginning with any of the first ones. */
const EVERY = isLong ? 1 : 10

/**
 * Moves buckets while their entities are written, and puts the target back by `calls` calls just before a call of the mover. Resolves with
 * the result, or with undefined if the move was over before the call.
 */
async function moveWithLoss(place: number, calls: number): Promise<string | undefined> {
  const states: ShardState[] = []
  const acknowledged = new Map<EntityId, number>()
  let n = 1
  let isOver = false
  const {
    move,
    openFaulty,
    writer: first,
  } = await moveWith((call, { shards, writer, ids }) => {
    const target = shards.reference.shards[1]!
    const writes = call.operation === 'receive' || sealedBy(call) !== undefined
    if (isOver || (call.shard !== 1 && !writes)) return undefined
    return {
      async before() {
        if (writes) {
          n++
          const { owns, leaving } = (await loadOwn(writer.context, 0, {})).serves
          const sealed = leaving?.find((record) => record.sealed !== undefined)?.sealed
          for (const [i, some] of ids.entries()) {
            if (withoutRanges(GROUPS[i]!, owns) !== '') continue
            if (sealed !== undefined && rangesInclude(GROUPS[i]!, sealed)) continue
            const id = some[n % 2]!
            await writer.put({ n, user: id }, { id })
            acknowledged.set(id, n)
          }
        }
        if (call.shard !== 1) return
        states.push(target.state())
        if (states.length === place) target.fallBack(states.at(-1 - calls) ?? states[0]!, 'everything')
      },
    }
  })
  const state = await move().then(
    (report) => report.state,
    (error: unknown) => {
      if (isLooseleafError(error, 'CONFLICT') && error.message.includes('are on no shard')) return 'no owner'
      throw error
    },
  )
  isOver = true
  if (states.length < place) return undefined
  if (state === 'no owner') {
    const { moves = [] } = (await loadOwn(first.context, 0, {})).catalog.layout!
    expect(moves.map(({ phase }) => phase)).not.toContain('both')
    return state
  }
  const fresh = await openFaulty()
  // The target went back when the move was over.
  if ((await fresh.shards.repair()).problems.some((text) => text.includes('are on no shard')))
    return 'no owner'
  for (const [id, last] of acknowledged) expect(await fresh.get(id)).toMatchObject({ n: last })
  return state
}

test.each(isLong ? [1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40] : [1, 9])(
  'a move to a target that loses its last commits at any call loses no acknowledged write, and never begins without copies (%i calls)',
  async (calls) => {
    const results = new Map<string, number>()
    for (let place = 2 + Math.floor(Math.random() * EVERY); ; place += EVERY) {
      const result = await moveWithLoss(place, calls).catch((error: unknown) => {
        throw new Error(`A loss before call ${place}: ${(error as Error).message}`, { cause: error })
      })
      if (result === undefined) break
      results.set(result, (results.get(result) ?? 0) + 1)
    }
    expect(results.get('done')).toBeGreaterThan(60 / EVERY)
  },
)
