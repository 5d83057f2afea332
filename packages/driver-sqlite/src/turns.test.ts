import { setImmediate as nextLoop } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { nextTurn } from './turns.ts'

/** Blocks the process for this many milliseconds. */
function hold(milliseconds: number): void {
  const until = performance.now() + milliseconds
  while (performance.now() < until);
}

/** Returns the number of turns of the event loop until all pieces of work are done, each in a turn with time for it. */
async function turnsFor(pieces: number, milliseconds: number): Promise<number> {
  let turns = 0
  let isDone = false
  const work = Promise.all(
    Array.from({ length: pieces }, async () => {
      await nextTurn()
      hold(milliseconds)
    }),
  ).then(() => (isDone = true))
  for (; !isDone; turns++) await nextLoop()
  await work
  return turns
}

it('statements that take long leave turns of the event loop to other work', async () => {
  // Two pieces have used up their turn.
  expect(await turnsFor(20, 6)).toBeGreaterThanOrEqual(10)
})

it('short statements run in one turn', async () => {
  expect(await turnsFor(20, 0)).toBeLessThanOrEqual(3)
})

it('statements run in the order of the calls', async () => {
  const order: number[] = []
  await Promise.all(
    Array.from({ length: 9 }, async (_, number) => {
      await nextTurn()
      order.push(number)
      hold(6)
    }),
  )
  expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
})
