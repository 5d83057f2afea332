import { expect, it } from 'vitest'
import { createSessionTokens, isSessionToken } from './session-tokens.ts'

const random = { next: () => 0, uuid: () => crypto.randomUUID() }

it('a token stands for its moment in its own process, and for its first sight in others', () => {
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

it('10,000 tokens of other processes are remembered, and a forgotten one counts as new', () => {
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
  // The new moment is later, so a read with the token is never too old.
  expect(tokens.momentOf(others[0]!)).toBe(10_002)
  expect(tokens.momentOf(others[2]!)).toBe(3)
})
