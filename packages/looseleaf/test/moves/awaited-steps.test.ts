import { LooseleafError, parseId } from '@looseleaf/core'
import type { CopiedRow, ReceiveOptions } from '@looseleaf/core/internal'
import { moveTask, undoMove } from '@looseleaf/mover/internal'
import { loadOwn } from '@looseleaf/protocol/internal'
import type { FaultyCall } from '@looseleaf/testkit'
import type { ShardState } from '@looseleaf-tooling/kit/reference-driver'
import { describe, expect, test } from 'vitest'
import { GROUPS, isBegin, moveWith, sealedBy } from './two-groups.ts'

const [FIRST] = GROUPS

/** Waits so long that work which nothing awaits would go on meanwhile. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await new Promise((resolve) => setImmediate(resolve))
}

const savesStep = ({ operation, args }: FaultyCall, step: string): boolean =>
  operation === 'save' && args[0] === moveTask(1) && String(args[2]).includes(`"step":"${step}"`)

function denied(): never {
  throw new LooseleafError('SHARD_DENIED', 'It is denied (a fault on purpose).')
}

describe('a step that the record cannot take', () => {
  const plan = (step: string, later: string[]) => {
    let isDenied = false
    return (call: FaultyCall) => {
      if (isDenied) later.push(call.operation)
      if (!savesStep(call, step)) return undefined
      isDenied = true
      return { before: denied }
    }
  }

  test.each(['copying', 'checking', 'sealing', 'switching', 'emptying', 'done'])(
    'a move whose record does not take the step %s rejects, and does nothing more',
    async (step) => {
      const later: string[] = []
      const { move } = await moveWith(plan(step, later))
      await expect(move()).rejects.toMatchObject({ code: 'SHARD_DENIED' })
      // The end of its lease.
      expect(later).toEqual(['save'])
    },
  )

  test('a move that goes on while it is sealing rejects if its record does not take that step, and does nothing more', async () => {
    const later: string[] = []
    let isStopped = false
    const denies = plan('sealing', later)
    const { move } = await moveWith((call) => {
      if (isStopped) return denies(call)
      return isBegin(call) ? { before: denied } : undefined
    })
    await expect(move()).rejects.toMatchObject({ code: 'SHARD_DENIED' })
    isStopped = true
    await expect(move()).rejects.toMatchObject({ code: 'SHARD_DENIED' })
    expect(later).toEqual(['save'])
  })

  test.each(['undoing', 'undone'])(
    'an undo whose record does not take the step %s rejects, and does nothing more',
    async (step) => {
      const later: string[] = []
      let isStopped = false
      const denies = plan(step, later)
      const { move, openFaulty } = await moveWith((call) => {
        if (isStopped || !savesStep(call, 'checking')) return denies(call)
        return { before: denied }
      })
      await expect(move()).rejects.toMatchObject({ code: 'SHARD_DENIED' })
      isStopped = true
      await expect(undoMove(await openFaulty(), 1)).rejects.toMatchObject({ code: 'SHARD_DENIED' })
      expect(later).toEqual(['save'])
    },
  )
})

test('no step of a move begins while copies of the step before it are on their way', async () => {
  let inFlight = 0
  let copies = 0
  const early: string[] = []
  const { move } = await moveWith((call, { writer, ids }) => {
    const { shard, operation } = call
    if (operation === 'receive')
      return {
        async before() {
          inFlight++
          copies++
          await turns()
        },
        after: () => void inFlight--,
      }
    const isStep = operation === 'save' || operation === 'upsert' || (operation === 'change' && shard === 0)
    if (isStep && inFlight > 0) early.push(operation)
    // Each step has an entity to copy.
    if (operation !== 'save') return undefined
    const [id] = ids[1]
    return { after: async () => void (await writer.put({ n: copies + 2, user: id }, { id })) }
  })
  expect(await move()).toMatchObject({ state: 'done' })
  expect(copies).toBe(3)
  expect(early).toEqual([])
})

test('copies under a seal have a later time than those before it, which may arrive once more', async () => {
  let step: 'compare' | 'round' | 'seal' | 'over' = 'compare'
  const times: number[] = []
  const { move } = await moveWith((call, { writer, ids }) => {
    const [id] = ids[0]
    const put = async (n: number): Promise<void> => void (await writer.put({ n, user: id }, { id }))
    if (call.shard === 1 && call.operation === 'raiseFloor') return { before: turns }
    if (step === 'compare' && savesStep(call, 'sealing')) {
      step = 'round'
      return { after: () => put(2) }
    }
    if (step === 'round' && sealedBy(call) === FIRST) {
      step = 'seal'
      return { before: () => put(3) }
    }
    if (step !== 'compare' && step !== 'over' && call.operation === 'receive')
      times.push((call.args[1] as ReceiveOptions).updated)
    if (isBegin(call)) step = 'over'
    return undefined
  })
  expect(await move()).toMatchObject({ state: 'done' })
  expect(times).toHaveLength(2)
  expect(times[1]).toBeGreaterThan(times[0]!)
})

test('a group that was lost is not given up again while a copy of it differs', async () => {
  let step: 'copy' | 'begin' | 'lost' | 'over' = 'copy'
  let before: ShardState | undefined
  const { move, writer } = await moveWith((call, { shards, ids: [[id]] }) => {
    const target = shards.reference.shards[1]!
    if (step === 'copy' && call.operation === 'receive') {
      step = 'begin'
      before = target.state()
    } else if (step === 'begin' && isBegin(call)) {
      step = 'lost'
      return { before: () => target.fallBack(before!, 'everything') }
    } else if (step === 'lost' && call.operation === 'receive') {
      const [rows, options] = call.args as [readonly CopiedRow[], ReceiveOptions]
      const row = rows.find((each) => Buffer.from(each.id).equals(parseId(id)))
      if (row === undefined) return undefined
      step = 'over'
      return { after: () => target.entities.receive([{ ...row, body: null }], options) }
    }
    return undefined
  })
  await expect(move()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('differ') })
  expect(step).toBe('over')
  expect((await loadOwn(writer.context, 1, {})).serves.arrived).toBeUndefined()
})
