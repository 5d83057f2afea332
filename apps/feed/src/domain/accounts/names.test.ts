import { expect, test } from 'vitest'
import { isAddress, nameProblem } from './names.ts'

test.each([
  ['a', '2 to 30'],
  ['a'.repeat(31), '2 to 30'],
  ['ann smith', 'letters'],
  ['-ann', 'letters'],
  ['ann-', 'letters'],
  ['an--n', 'letters'],
  ['änn', 'letters'],
  ['аnn', 'letters'],
  ['admin', 'reserved'],
  ['sign-in', 'reserved'],
])('the name %s is refused', (name, reason) => {
  expect(nameProblem(name)).toContain(reason)
})

test.each(['ab', 'ann-2', '007', 'a'.repeat(30)])('the name %s is accepted', (name) => {
  expect(nameProblem(name)).toBeUndefined()
})

test.each([
  'ann@example',
  '@example.org',
  'ann example@example.org',
  'ann@@example.org',
  'ann@example..org',
  '<a>@b.org',
])('%s is no address', (address) => {
  expect(isAddress(address)).toBe(false)
})
