import { LooseleafError, parseId } from '@looseleaf/core'
import { rangesInclude, type CopiedRow } from '@looseleaf/core/internal'
import { entitiesIn, loadOwn } from '@looseleaf/protocol/internal'
import { unknownOutcome } from '@looseleaf/testkit'
import type { ShardState } from '@looseleaf-tooling/kit/reference-driver'
import { expect, test } from 'vitest'
import { SOME_BUCKETS } from './stores.ts'
import { GROUPS, isBegin, moveWith, servesOf } from './two-groups.ts'

const [FIRST, LAST] = GROUPS

test('a group that the target has lost is served before anything of the other groups is copied again', async () => {
  let step: 'copy' | 'begin' | 'over' = 'copy'
  let before: ShardState | undefined
  const copied: string[] = []
  const { move, openFaulty, ids } = await moveWith((call, { shards, writer: { context } }) => {
    const target = shards.reference.shards[1]!
    if (step === 'copy' && call.operation === 'receive') {
      step = 'begin'
      before = target.state()
      return undefined
    }
    if (step === 'begin' && isBegin(call)) {
      step = 'over'
      return { before: () => target.fallBack(before!, 'everything') }
    }
    if (step !== 'over' || call.operation !== 'receive') return undefined
    return {
      async before() {
        const { owns } = (await loadOwn(context, 1, {})).serves
        for (const { id } of call.args[0] as readonly CopiedRow[])
          copied.push(
            entitiesIn(context, FIRST)(id) ? 'lost' : rangesInclude(owns, FIRST) ? 'other' : 'too early',
          )
      },
    }
  })
  // Each entity was compared in the first pass, and again.
  expect(await move()).toMatchObject({ state: 'done', counts: { compared: 8 } })
  expect(copied).toEqual(['lost', 'lost', 'other', 'other'])
  const reader = await openFaulty()
  for (const id of ids.flat()) expect(await reader.get(id)).toMatchObject({ n: 1 })
})

test('the last group that the target has lost is served, but for one bucket, before index rows are copied again', async () => {
  let step: 'copy' | 'first' | 'over' = 'copy'
  let before: ShardState | undefined
  const calls: string[] = []
  const { move, openFaulty, writer, ids } = await moveWith((call, moving) => {
    const { shards } = moving
    const [id] = moving.ids[1]
    const target = shards.reference.shards[1]!
    if (step === 'copy' && isBegin(call)) {
      step = 'first'
      return {
        async after() {
          before = target.state()
          await moving.writer.put({ n: 1, user: id }, { id })
        },
      }
    }
    if (step === 'first' && isBegin(call)) {
      step = 'over'
      return { before: () => target.fallBack(before!, 'everything') }
    }
    if (step !== 'over' || call.shard !== 1) return undefined
    if (['receive', 'upsert'].includes(call.operation)) calls.push(call.operation)
    const owns = servesOf(call)?.owns ?? ''
    if (rangesInclude(owns, LAST)) calls.push('serves all')
    else if (rangesInclude(owns, '512-1022')) calls.push('serves')
    return undefined
  })
  const isIn = entitiesIn(writer.context, SOME_BUCKETS)
  for (let rows = 0; rows < 40;) {
    const id = writer.newId()
    if (isIn(parseId(id))) continue
    // Some rows are in the buckets that move.
    await writer.put({ n: 1, user: `user ${rows}` }, { id })
    rows++
  }
  expect(await move()).toMatchObject({ state: 'done', counts: { compared: 6 } })
  expect([...new Set(calls)]).toEqual(['receive', 'serves', 'upsert', 'serves all'])
  const reader = await openFaulty()
  for (const id of ids.flat()) expect(await reader.get(id)).toMatchObject({ n: 1 })
})

test('a move goes on if its target comes back with a lost group just before it is copied again', async () => {
  let step: 'copy' | 'begin' | 'lost' | 'over' = 'copy'
  let before: ShardState | undefined
  let whole: ShardState | undefined
  const { move, openFaulty, ids } = await moveWith((call, { shards }) => {
    const target = shards.reference.shards[1]!
    if (step === 'copy' && call.operation === 'receive') {
      step = 'begin'
      before = target.state()
      return undefined
    }
    if (step === 'begin' && isBegin(call)) {
      step = 'lost'
      return {
        before() {
          whole = target.state()
          target.fallBack(before!, 'everything')
        },
      }
    }
    const { leaving = [], away } = servesOf(call) ?? {}
    const isAgain = away !== undefined && leaving.some(({ buckets }) => rangesInclude(buckets, FIRST))
    if (step !== 'lost' || call.shard !== 0 || !isAgain) return undefined
    step = 'over'
    // With the lease of the mover.
    return { after: () => target.fallBack({ ...whole!, tasks: target.state().tasks }, 'everything') }
  })
  expect(await move()).toMatchObject({ state: 'done' })
  expect(step).toBe('over')
  const reader = await openFaulty()
  for (const id of ids.flat()) expect(await reader.get(id)).toMatchObject({ n: 1 })
})

test('a target that begins without an answer has lost nothing, and no entity is copied again', async () => {
  let isLost = false
  const { move } = await moveWith((call) => {
    if (!isBegin(call) || isLost) return undefined
    isLost = true
    return {
      before() {
        throw unknownOutcome()
      },
    }
  })
  expect(await move()).toMatchObject({ state: 'done', counts: { entities: 4, compared: 4 } })
  expect(isLost).toBe(true)
})

test('all is copied again if the target goes back to the begin of its attempt after it has begun with a group', async () => {
  let step: 'copy' | 'begin' | 'fail' | 'over' = 'copy'
  let before: ShardState | undefined
  const { move, openFaulty, ids } = await moveWith((call, { shards }) => {
    const target = shards.reference.shards[1]!
    if (step === 'copy' && call.operation === 'receive') {
      step = 'begin'
      before = target.state()
    }
    if (step === 'begin' && isBegin(call)) return { after: () => void (step = 'fail') }
    if (step !== 'fail' || call.shard !== 0 || call.operation !== 'raiseFloor') return undefined
    step = 'over'
    return {
      before() {
        // With the lease of the mover.
        target.fallBack({ ...before!, tasks: target.state().tasks }, 'everything')
        throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard does not answer.')
      },
    }
  })
  expect(await move()).toMatchObject({ state: 'done' })
  expect(step).toBe('over')
  const reader = await openFaulty()
  for (const id of ids.flat()) expect(await reader.get(id)).toMatchObject({ n: 1 })
})
