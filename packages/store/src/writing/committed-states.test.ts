import { describe, expect, test } from 'vitest'
import { createCommittedStates, type CommittedStates } from './committed-states.ts'

const idOf = (number: number): Buffer => {
  const id = Buffer.alloc(16)
  id.writeUInt32BE(number)
  return id
}
const body = Buffer.from('body')

/** Returns states after a write at a version, which turns the keeping on. */
function wanted(): CommittedStates {
  const states = createCommittedStates()
  states.take(idOf(0), 1)
  return states
}

describe('states that a process has committed', () => {
  test('a state is given once, at its own version', () => {
    const states = wanted()
    states.keep(idOf(1), 7, body)
    expect(states.take(idOf(2), 7)).toBeUndefined()
    expect(states.take(idOf(1), 7)).toBe(body)
    expect(states.take(idOf(1), 7)).toBeUndefined()
    states.keep(idOf(1), 8, body)
    expect(states.take(idOf(1), 7)).toBeUndefined()
    expect(states.take(idOf(1), 8)).toBeUndefined()
  })

  test('a later state of an entity replaces the former one, and a tombstone leaves none', () => {
    const states = wanted()
    states.keep(idOf(1), 7, body)
    states.keep(idOf(1), 8, Buffer.from('later'))
    expect(states.take(idOf(1), 8)?.toString()).toBe('later')
    states.keep(idOf(1), 9, body)
    states.keep(idOf(1), 10, null)
    expect(states.take(idOf(1), 9)).toBeUndefined()
  })

  test('no state is kept before the first write at a version, nor long after the last one', () => {
    const states = createCommittedStates()
    states.keep(idOf(1), 7, body)
    expect(states.take(idOf(1), 7)).toBeUndefined()
    for (let i = 0; i < 4_096; i++) states.keep(idOf(2), i, body)
    states.keep(idOf(3), 7, body)
    expect(states.take(idOf(3), 7)).toBeUndefined()
  })

  test('at most 4,096 states are kept, and the oldest goes first', () => {
    const states = wanted()
    for (let i = 0; i < 4_000; i++) states.keep(idOf(i), 7, body)
    states.take(idOf(5_000), 7)
    for (let i = 4_000; i < 4_100; i++) states.keep(idOf(i), 7, body)
    expect(states.take(idOf(3), 7)).toBeUndefined()
    expect(states.take(idOf(4), 7)).toBe(body)
    expect(states.take(idOf(4_099), 7)).toBe(body)
  })

  test('at most 4 MiB of bodies are kept, and no body of more than 512 KiB', () => {
    const states = wanted()
    const large = Buffer.alloc(512 * 1024)
    for (let i = 0; i < 9; i++) states.keep(idOf(i), 7, large)
    expect(states.take(idOf(0), 7)).toBeUndefined()
    expect(states.take(idOf(1), 7)).toBe(large)
    states.keep(idOf(10), 7, Buffer.alloc(512 * 1024 + 1))
    expect(states.take(idOf(10), 7)).toBeUndefined()
    for (let i = 20; i < 29; i++) states.keep(idOf(i), 7, large)
    expect(states.take(idOf(20), 7)).toBeUndefined()
    expect(states.take(idOf(21), 7)).toBe(large)
  })
})
