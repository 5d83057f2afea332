import { basename } from 'node:path'
import type { TestRun } from './host-protocol.ts'
import type { Mutant } from './mutant.ts'
import { targetFiles } from './targets.ts'
import type { KnownTest, TestMap } from './test-map.ts'

export interface ChosenTests {
  /** Tests that run the statement, by file, the likeliest killer first. */
  readonly runs: readonly ChosenRun[]
  readonly count: number
}

export interface ChosenRun extends TestRun {
  readonly tests: readonly string[]
  /** Duration of the longest test in milliseconds. */
  readonly longestMs: number
}

/** Approximate time to start a test file, in milliseconds. */
const START_MS = 500

/** Killers according to earlier runs. */
export interface Expected {
  /** Test file that killed this mutant last. */
  readonly lastKiller: string | undefined
  /** Number of mutants of the same file that each test file has killed. */
  readonly kills: ReadonlyMap<string, number>
}

/** `unfit`: ids of tests that fail without others of their file. */
export function chooseTests(
  map: TestMap,
  mutant: Mutant,
  { lastKiller, kills }: Expected,
  unfit: ReadonlySet<string>,
): ChosenTests {
  const probe = map.probeAt(mutant.file, mutant.start)
  const folder = mutant.file.split('/').slice(0, 2).join('/')
  const ownTest = basename(mutant.file).replace(/\.ts$/, '.test.ts')
  const candidates = targetFiles().get(mutant.file) ?? []
  const files = candidates.flatMap((file) => {
    const known = map.files.get(file)
    if (known === undefined) return []
    const isOutside = known.probes.includes(probe)
    const tests = known.tests.filter(
      (test) => (isOutside || test.probes.includes(probe)) && !unfit.has(test.id),
    )
    if (tests.length === 0) return []
    const isOwn = basename(file) === ownTest
    const isOfPackage = file.startsWith(`${folder}/`)
    const chance = 1 + (kills.get(file) ?? 0) + (isOwn ? 5 : 0) + (isOfPackage ? 1 : 0)
    const rank = [
      Number(file === lastKiller),
      Number(!file.endsWith('.int.test.ts')),
      chance / (START_MS + sumOf(tests)),
    ]
    return [{ file, tests, rank }]
  })
  files.sort((a, b) => {
    for (const [i, high] of a.rank.entries()) {
      const higher = (b.rank[i] ?? 0) - high
      if (higher !== 0) return higher
    }
    return 0
  })
  const runs = files.map(({ file, tests }) => ({
    file,
    tests: tests.map(({ id }) => id),
    longestMs: Math.max(...tests.map(({ ms }) => ms)),
  }))
  return { runs, count: runs.reduce((sum, { tests }) => sum + tests.length, 0) }
}

function sumOf(tests: readonly KnownTest[]): number {
  return tests.reduce((sum, { ms }) => sum + ms, 0)
}
