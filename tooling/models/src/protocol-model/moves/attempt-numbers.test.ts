import { expect, it } from 'vitest'
import { explore, type Exploration } from '../explore.ts'
import { numberMover } from './attempt-numbers.ts'
import {
  allAttemptGuards,
  brokenNumber,
  failover,
  noNumberMemory,
  numberWorld,
  numberWriter,
  type AttemptGuards,
} from './attempt-world.ts'

/** Changes of the attempt at the source. With fewer ones, no number of a record that is gone could be given again. */
const CHANGES = 8

function check(guards: AttemptGuards): Exploration {
  const mover = numberMover(guards, CHANGES)
  return explore({
    world: numberWorld(),
    local: noNumberMemory,
    processes: [mover, mover, numberWriter(0)],
    events: [failover],
    always: brokenNumber,
  })
}

it('a target that loses its buckets once more serves them only with their last states', () => {
  const { violation, states } = check(allAttemptGuards)
  expect(violation).toBeUndefined()
  expect(states).toBeGreaterThan(10_000)
})

it.each(Object.keys(allAttemptGuards))('the promise breaks without the guard %s', (guard) => {
  const { violation } = check({ ...allAttemptGuards, [guard]: false })
  expect(violation?.what).toMatch(/^the target serves bucket \d without its last state$/)
})
