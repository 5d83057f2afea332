import { expect, test } from 'vitest'
import { createTurns } from './turns.ts'

test('turns come in the order of the calls, and a turn that ends out of order is skipped', () => {
  const askTurn = createTurns()
  const [first, second, third] = [askTurn(), askTurn(), askTurn()]
  const mine = (): readonly boolean[] => [first, second, third].map(({ isMine }) => isMine)
  expect(mine()).toEqual([true, false, false])
  second.end()
  expect(mine()).toEqual([true, false, false])
  first.end()
  expect(mine()).toEqual([false, false, true])
  third.end()
  expect(mine()).toEqual([false, false, false])
  expect(askTurn().isMine).toBe(true)
})
