import { LooseleafError } from '@looseleaf/core'
import type { LayoutMove } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { createMoveLine } from './move-line.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const moveTo = (to: number): LayoutMove => ({ id: to, from: 2, to, buckets: '1', phase: 'both' })

test('a line ends with its first error when the work on all of its moves has ended', async () => {
  const errors = [0, 1].map((to) => new LooseleafError('CONFLICT', `Move ${to} has failed.`))
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const claims = [async () => {}, () => released]
  const shards = claims.map((wait, to) => ({
    async claim() {
      await wait()
      throw errors[to]
    },
  }))
  const context = {
    driver: { shards: shards.map((tasks) => ({ tasks })) },
    time: { now: () => 0, sleep: turn },
    random: { uuid: () => 'owner' },
  } as unknown as EngineContext
  const line = createMoveLine(context, {})
  expect(await line.begin(moveTo(0))).toBe(false)
  const second = line.begin(moveTo(1))
  let isOver = false
  const ended = line.ended().finally(() => (isOver = true))
  ended.catch(() => {})
  await turn()
  expect(isOver).toBe(false)
  release()
  expect(await second).toBe(false)
  await expect(ended).rejects.toBe(errors[0])
  expect(await line.settled()).toEqual(errors.map((reason) => ({ status: 'rejected', reason })))
})
