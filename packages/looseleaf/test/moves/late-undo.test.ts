import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets, movesOf, undoMove } from '@looseleaf/mover/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { checkIndexes, contentsOf, filledStore, openStore, SOME_BUCKETS } from './stores.ts'

test('an undo that waits for the mover is refused when the mover has ended the move', async () => {
  const driver = await memoryShards(2).connect()
  const other = await filledStore(driver, 60)
  const before = await contentsOf(other)
  let isWaiting: Promise<unknown> = Promise.resolve()
  // The mover goes on when the undo waits for it.
  const slow = faultyDriver(driver, () => ({ before: async () => void (await isWaiting) }))
  const store = await openStore(slow, leapingTime())
  let undone: Promise<unknown> | undefined
  const moved = await moveBuckets(
    store,
    { from: 0, to: 1, buckets: SOME_BUCKETS },
    {
      onProgress({ move, step }) {
        if (step !== 'checking' || undone !== undefined) return
        const waits = Promise.withResolvers<void>()
        isWaiting = waits.promise
        undone = undoMove(other, move, { onWait: () => waits.resolve() }).catch((error: unknown) => error)
      },
    },
  )
  expect(moved.state).toBe('done')
  expect(await undone).toMatchObject({
    code: 'CONFLICT',
    message: `Move ${moved.id} cannot be undone: it has ended. Move the buckets back.`,
  })
  expect(await movesOf(other, { finished: true })).toMatchObject([
    { id: moved.id, state: 'done', holder: undefined, heldUpBy: undefined },
  ])
  expect(await contentsOf(other)).toEqual(before)
  await checkIndexes(other)
  await driver.close()
})
