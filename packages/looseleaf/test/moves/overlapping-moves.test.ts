import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { announceMove } from '@looseleaf/protocol/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveBuckets, movesOf, resumeMoves, undoMove } from '@looseleaf/mover/internal'
import { checkIndexes, contentsOf, filledStore, openStore, rowsAt, SOME_BUCKETS } from './stores.ts'

const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
const PART = '0-10'
const REST = '11-1023'

test('copies of an undone move are deleted although another move has some of its buckets by then', async () => {
  const driver = await memoryShards(2).connect()
  const before = await contentsOf(await filledStore(driver, 200))
  const interrupted = new AbortController()
  const mover = await openStore(driver, leapingTime())
  const onProgress = ({ step }: { step: string }): void => {
    if (step === 'checking') interrupted.abort()
  }
  await expect(moveBuckets(mover, plan, { signal: interrupted.signal, onProgress })).rejects.toMatchObject({
    code: 'ABORTED',
  })
  const [open] = await movesOf(mover)
  const dying = faultyDriver(driver, ({ operation }) =>
    operation === 'discard'
      ? {
          before() {
            throw new LooseleafError('CLOSED', 'The process has died.')
          },
        }
      : undefined,
  )
  const undoing = await openStore(dying, leapingTime())
  await expect(undoMove(undoing, open!.id)).rejects.toMatchObject({ code: 'CLOSED' })
  expect(await rowsAt(mover, 1, REST)).toBeGreaterThan(0)

  await announceMove(mover.context, { ...plan, buckets: PART })
  await resumeMoves(mover, { leaseMs: 1 })
  expect(await rowsAt(mover, 1, REST)).toBe(0)
  expect(await rowsAt(mover, 0, PART)).toBe(0)
  expect(await contentsOf(mover)).toEqual(before)
  await checkIndexes(mover)
  await driver.close()
})

test('a source is emptied of the buckets that have not come back although others have', async () => {
  const driver = await memoryShards(2).connect()
  const before = await contentsOf(await filledStore(driver, 200))
  const dying = faultyDriver(driver, ({ shard, operation }) =>
    shard === 0 && operation === 'discard'
      ? {
          before() {
            throw new LooseleafError('CLOSED', 'The process has died.')
          },
        }
      : undefined,
  )
  const first = await openStore(dying, leapingTime())
  await expect(moveBuckets(first, plan)).rejects.toMatchObject({ code: 'CLOSED' })
  const mover = await openStore(driver, leapingTime())
  expect(await rowsAt(mover, 0, REST)).toBeGreaterThan(0)
  expect(await moveBuckets(mover, { from: 1, to: 0, buckets: PART })).toMatchObject({ state: 'done' })
  await resumeMoves(mover, { leaseMs: 1 })
  expect(await rowsAt(mover, 0, REST)).toBe(0)
  expect(await contentsOf(mover)).toEqual(before)
  await checkIndexes(mover)
  await driver.close()
})
