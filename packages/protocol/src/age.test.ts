import type { Time } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { createAge, createCarefulAge } from './age.ts'

/** A time whose two clocks the test sets. */
function clocks() {
  const clock = { wall: 1_000, elapsed: 50 }
  const time = { now: () => clock.wall, elapsed: () => clock.elapsed } as unknown as Time
  return { clock, time }
}

test.each([
  [1_099, 149, false],
  [1_100, 50, true],
  [1_000, 150, true],
  [900, 149, false],
])('an age of 100 ms is over by either clock (%i, %i)', (wall, elapsed, isOver) => {
  const { clock, time } = clocks()
  const age = createAge(time, 100)
  Object.assign(clock, { wall, elapsed })
  expect(age()).toBe(isOver)
})

test.each([
  [1_099, 149, false],
  [1_000, 50, false],
  [1_100, 50, true],
  [1_000, 150, true],
  [999, 50, true],
])('a careful age is also over after the clock was set back (%i, %i)', (wall, elapsed, isOver) => {
  const { clock, time } = clocks()
  const age = createCarefulAge(time, 100)
  Object.assign(clock, { wall, elapsed })
  expect(age()).toBe(isOver)
})
