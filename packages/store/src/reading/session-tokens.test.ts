import { expect, it } from 'vitest'
import { createSessionTokens, isSessionToken } from './session-tokens.ts'

const random = { next: () => 0, uuid: () => crypto.randomUUID() }

it('a token says in its own process when it was made, and in others when it was seen for the first time', () => {
  let now = 5
  const [own, other] = [
    createSessionTokens(() => now, random, 'a store'),
    createSessionTokens(() => now * 10, random, 'a store'),
  ]
  const token = own.make()
  expect(isSessionToken(token)).toBe(true)
  now = 7
  expect(own.momentOf(token)).toBe(5)
  expect(other.momentOf(token)).toBe(70)
  now = 9
  expect(own.momentOf(token)).toBe(5)
  expect(other.momentOf(token)).toBe(70)
})

it('10,000 of other processes are kept in mind; the oldest is forgotten, and is new when it comes again', () => {
  let now = 0
  const tokens = createSessionTokens(() => now, random, 'a store')
  const others = Array.from({ length: 10_001 }, (_, n) => `other-${n.toString(36)}`)
  for (const token of others.slice(0, 10_000)) {
    now++
    expect(tokens.momentOf(token)).toBe(now)
  }
  expect(tokens.momentOf(others[0]!)).toBe(1)
  now++
  tokens.momentOf(others[10_000]!)
  now++
  // Later than before: what it stands for is not read too old.
  expect(tokens.momentOf(others[0]!)).toBe(10_002)
  expect(tokens.momentOf(others[2]!)).toBe(3)
})
