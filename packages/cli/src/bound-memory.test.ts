import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Has some 20 MiB alive and drops what it makes after a while, as an import does; prints the most MiB of this space. */
const script = (space: string, first: string): string => `
  import { getHeapSpaceStatistics } from 'node:v8'
  import { boundMemory } from ${JSON.stringify(new URL('bound-memory.ts', import.meta.url).href)}
  ${first}
  const makeSome = () => Array.from({ length: 5_000 }, (_, i) => ({ i, text: 'text ' + i }))
  const alive = Array.from({ length: 40 }, makeSome)
  let most = 0
  for (let round = 0; round < 300; round++) {
    alive[round % 30] = makeSome()
    const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === '${space}')
    most = Math.max(most, space_size)
    await new Promise((resolve) => setImmediate(resolve))
  }
  console.log(most / 2 ** 20)`

function mostMemory(space: string, semiSpace: number, first = ''): number {
  const flags = [`--max-semi-space-size=${semiSpace}`, '--input-type=module', '--eval', script(space, first)]
  return Number(execFileSync(process.execPath, flags, { encoding: 'utf8' }))
}

test('young objects get some 32 MiB of a process that could have more', () => {
  expect(mostMemory('new_space', 64)).toBeGreaterThan(64)
  expect(mostMemory('new_space', 64, 'boundMemory()')).toBeLessThanOrEqual(64)
})

test('old garbage gets less than V8 would give it', () => {
  const [unbound, bound] = [mostMemory('old_space', 1), mostMemory('old_space', 1, 'boundMemory()')]
  expect(bound).toBeLessThan(0.9 * unbound)
})
