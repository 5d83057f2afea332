import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Keeps what it makes for some collections, as an import does, and prints the MiB of its space for young objects. */
const script = (first: string): string => `
  import { getHeapSpaceStatistics } from 'node:v8'
  import { boundYoungMemory } from ${JSON.stringify(new URL('young-memory.ts', import.meta.url).href)}
  ${first}
  const kept = []
  for (let round = 0; round < 150; round++) {
    kept[round % 30] = Array.from({ length: 10_000 }, (_, i) => ({ i, text: 'text ' + i }))
    await new Promise((resolve) => setImmediate(resolve))
  }
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  console.log(young.space_size / 1024 / 1024)`

function youngMemory(first: string): number {
  const flags = ['--max-semi-space-size=64', '--input-type=module', '--eval', script(first)]
  return Number(execFileSync(process.execPath, flags, { encoding: 'utf8' }))
}

test('young objects get some 32 MiB of a process that could have more', () => {
  expect(youngMemory('')).toBeGreaterThan(64)
  expect(youngMemory('boundYoungMemory()')).toBeLessThanOrEqual(64)
})
