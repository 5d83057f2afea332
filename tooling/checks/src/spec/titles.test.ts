import { expect, it } from 'vitest'
import { titlesIn } from './titles.ts'

const titlesOf = (source: string): string[] => [...titlesIn('some.test.ts', source)]

it('the reader finds the titles of tests and groups of every form', () => {
  expect(
    titlesOf(`
      describe('a group', () => {
        it("holds", () => {})
        test.each([1, 2])('of %s', { timeout: 9 }, (n: number) => {})
        test.skipIf(true).for([1])('left out', () => {})
        it(\`for \${SEEDS} seeds\`, async () => {})
      })
      describe.each(pairs)('$title', () => {})
    `),
  ).toEqual(['a group', 'holds', 'of %s', 'left out', 'for ${SEEDS} seeds', '$title'])
})

it('the keys of an object are titles if each of them is one', () => {
  const situations = `const situations: Record<string, number> = { 'a failover': 1, 'a crash': 2 }`
  expect(titlesOf(`${situations}; describe.each(Object.entries(situations))('%s', () => {})`)).toEqual([
    'a failover',
    'a crash',
  ])
  expect(titlesOf(situations)).toEqual([])
})

it('the reader finds no other texts', () => {
  expect(titlesOf(`expect('no title'); other.test('nor this'); test(name, () => {})`)).toEqual([])
})
