import { expect, it } from 'vitest'
import { titlesIn } from './titles.ts'

const titlesOf = (source: string): string[] => [...titlesIn('some.test.ts', source)]

it('finds the titles of tests and groups, whatever they are called by', () => {
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

it('takes the keys of an object for titles where each of them is one', () => {
  const situations = `const situations: Record<string, number> = { 'a failover': 1, 'a crash': 2 }`
  expect(titlesOf(`${situations}; describe.each(Object.entries(situations))('%s', () => {})`)).toEqual([
    'a failover',
    'a crash',
  ])
  expect(titlesOf(situations)).toEqual([])
})

it('finds nothing else', () => {
  expect(titlesOf(`expect('no title'); other.test('nor this'); test(name, () => {})`)).toEqual([])
})
