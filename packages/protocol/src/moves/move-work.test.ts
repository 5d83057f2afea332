import { expect, test } from 'vitest'
import { RELIED_MS, UNCHECKED_WAIT_MS } from './move-work.ts'

test('a move waits for longer than a process relies on a look, also by clocks that run at different rates', () => {
  expect(RELIED_MS).toBe(4_000)
  expect(UNCHECKED_WAIT_MS).toBe(5_500)
})
