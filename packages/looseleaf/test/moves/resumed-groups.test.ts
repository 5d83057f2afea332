import { LooseleafError, parseId } from '@looseleaf/core'
import type { CopiedRow } from '@looseleaf/core/internal'
import { resumeMoves } from '@looseleaf/mover/internal'
import type { FaultyCall } from '@looseleaf/testkit'
import type { ShardState } from '@looseleaf-tooling/kit/reference-driver'
import { expect, test } from 'vitest'
import { GROUPS, isBegin, moveWith, sealedBy } from './two-groups.ts'

const [FIRST] = GROUPS

/** Tells whether a call of the mover begins a round of copies. */
const isRound = ({ shard, operation }: FaultyCall): boolean => shard === 0 && operation === 'raiseFloor'

function outage(): never {
  throw new LooseleafError('SHARD_UNAVAILABLE', 'The server restarts (a fault on purpose).')
}

test('copies of a later group are sent again if their target loses them with the group that it served', async () => {
  let step: 'compare' | 'copy' | 'begin' | 'next group' | 'over' = 'compare'
  let before: ShardState | undefined
  const { move, openFaulty, ids } = await moveWith((call, moving) => {
    const target = moving.shards.reference.shards[1]!
    const [id] = moving.ids[1]
    if (step === 'compare' && call.operation === 'pageOfChecksums') {
      step = 'copy'
      return { after: async () => void (await moving.writer.put({ n: 2, user: id }, { id })) }
    }
    if (step === 'copy' && call.operation === 'receive') {
      const rows = call.args[0] as readonly CopiedRow[]
      if (!rows.some((row) => Buffer.from(row.id).equals(parseId(id)))) return undefined
      step = 'begin'
      before = target.state()
    }
    if (step === 'begin' && isBegin(call)) step = 'next group'
    else if (step === 'next group' && isRound(call)) {
      step = 'over'
      return {
        before() {
          target.fallBack(before!, 'everything')
          outage()
        },
      }
    }
    return undefined
  })
  expect(await move()).toMatchObject({ state: 'done' })
  expect(step).toBe('over')
  expect(await (await openFaulty()).get(ids[1][0])).toMatchObject({ n: 2 })
})

test('a mover that resumes before a given-up group has begun copies nothing again', async () => {
  let isStopped = false
  let isResumed = false
  const copied: string[] = []
  const { move, openFaulty, ids } = await moveWith((call) => {
    if (isResumed && call.operation === 'receive') copied.push(call.operation)
    if (isResumed || (!isStopped && !isBegin(call))) return undefined
    isStopped = true
    return {
      before() {
        throw new LooseleafError('CLOSED', 'The mover has died.')
      },
    }
  })
  await expect(move()).rejects.toMatchObject({ code: 'CLOSED' })
  isResumed = true
  const other = await openFaulty()
  expect(await resumeMoves(other, { groups: 2 })).toMatchObject([{ state: 'done' }])
  expect(copied).toEqual([])
  for (const id of ids.flat()) expect(await other.get(id)).toMatchObject({ n: 1 })
})

test('a move copies nothing again after the entity that was copied last is deleted and purged at its target', async () => {
  let step: 'seal' | 'begin' | 'next group' | 'over' = 'seal'
  const copied: string[] = []
  const { move, openFaulty, ids } = await moveWith((call, moving) => {
    const { writer, shards } = moving
    const [id] = moving.ids[0]
    const { entities } = shards.reference.shards[1]!
    if (step === 'seal' && sealedBy(call) === FIRST) {
      step = 'begin'
      return { before: async () => void (await writer.put({ n: 2, user: id }, { id })) }
    }
    if (step === 'begin' && isBegin(call)) {
      step = 'next group'
      return {
        async after() {
          await writer.delete(id)
          await entities.discard([parseId(id)], await entities.floor())
        },
      }
    }
    if (step === 'next group' && isRound(call)) {
      step = 'over'
      return { before: outage }
    }
    if (step === 'over' && call.operation === 'receive') copied.push(call.operation)
    return undefined
  })
  expect(await move()).toMatchObject({ state: 'done' })
  expect(step).toBe('over')
  expect(copied).toEqual([])
  expect(await (await openFaulty()).get(ids[0][0])).toBeUndefined()
})
