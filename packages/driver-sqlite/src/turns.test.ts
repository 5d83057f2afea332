import { setImmediate as nextLoop } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { nextTurn } from './turns.ts'

/** Does work of so many milliseconds, and does not let go. */
function hold(milliseconds: number): void {
  const until = performance.now() + milliseconds
  while (performance.now() < until);
}

/** How many turns of the event loop go by until all of it is done, each piece in a turn that has time for it. */
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
  // Two pieces have taken their turn's time.
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
