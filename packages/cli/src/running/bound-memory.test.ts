import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Returns a script that keeps some 20 MiB alive and drops objects after a while, like an import. It prints the largest size of this space in MiB. */
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

test('boundMemory keeps the space for young objects near 32 MiB', () => {
  expect(mostMemory('new_space', 64)).toBeGreaterThan(64)
  expect(mostMemory('new_space', 64, 'boundMemory()')).toBeLessThanOrEqual(64)
})

test('boundMemory keeps the space for old objects smaller than V8 would', () => {
  const unbound = mostMemory('old_space', 1)
  // A busy machine delays collections, by which a run needs more.
  const bound = Math.min(...[1, 2, 3].map(() => mostMemory('old_space', 1, 'boundMemory()')))
  expect(bound).toBeLessThan(0.9 * unbound)
})

/** Returns a script whose batches of objects are alive during a collection. V8 traces its decisions about them. */
const batches = (first: string): string => `
  import { boundMemory } from ${JSON.stringify(new URL('bound-memory.ts', import.meta.url).href)}
  ${first}
  const rowOf = (i) => ({ i, cells: [i, i + 1] })
  let kept
  for (let round = 0; round < 50; round++) {
    kept = Array.from({ length: 50_000 }, (_, i) => rowOf(i))
    await new Promise((resolve) => setImmediate(resolve))
  }`

test('boundMemory stops V8 from pretenuring objects that were alive as a batch', () => {
  const decisions = (first = ''): string =>
    execFileSync(
      process.execPath,
      [
        '--max-semi-space-size=1',
        '--trace-pretenuring-statistics',
        '--input-type=module',
        '--eval',
        batches(first),
      ],
      { encoding: 'utf8' },
    )
  expect(decisions()).toContain('=> tenure')
  expect(decisions('boundMemory()')).not.toContain('=> tenure')
})
