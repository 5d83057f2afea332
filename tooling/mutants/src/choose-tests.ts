import { basename } from 'node:path'
import type { TestRun } from './host-protocol.ts'
import type { Mutant } from './mutant.ts'
import { targetFiles } from './targets.ts'
import type { KnownTest, TestMap } from './test-map.ts'

export interface ChosenTests {
  /** Those that run the statement, the likeliest to notice first. */
  readonly runs: readonly TestRun[]
  readonly count: number
  /** How long the longest of them takes, in milliseconds. */
  readonly longestMs: number
}

/** `unfit`: ids of tests that cannot run without others of their file. */
export function chooseTests(
  map: TestMap,
  mutant: Mutant,
  lastKiller: string | undefined,
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
    const rank = [
      file === lastKiller,
      basename(file) === ownTest,
      !file.endsWith('.int.test.ts'),
      file.startsWith(`${folder}/`),
    ]
    return [{ file, tests, rank, ms: sumOf(tests) }]
  })
  files.sort((a, b) => {
    for (const [i, is] of a.rank.entries()) if (is !== b.rank[i]) return is ? -1 : 1
    return a.ms - b.ms
  })
  const all = files.flatMap(({ tests }) => tests)
  return {
    runs: files.map(({ file, tests }) => ({ file, tests: tests.map(({ id }) => id) })),
    count: all.length,
    longestMs: Math.max(0, ...all.map(({ ms }) => ms)),
  }
}

function sumOf(tests: readonly KnownTest[]): number {
  return tests.reduce((sum, { ms }) => sum + ms, 0)
}
