import { expect, it } from 'vitest'
import { chooseTests, type Expected } from './choose-tests.ts'
import type { Mutant } from './mutant.ts'
import type { KnownTestFile, TestMap } from './test-map.ts'

const mutant: Mutant = {
  file: 'packages/store/src/writing/entity-writer.ts',
  name: 'any',
  line: 1,
  start: 7,
  end: 8,
  replacement: '',
}

function testFile(file: string, ...tests: [id: string, ms: number, probes: number[]][]): KnownTestFile {
  return { file, probes: [], tests: tests.map(([id, ms, probes]) => ({ id, name: id, ms, probes })) }
}

function mapOf(...files: KnownTestFile[]): TestMap {
  return { files: new Map(files.map((known) => [known.file, known])), probeAt: (_, offset) => offset }
}

const NOTHING: Expected = { lastKiller: undefined, kills: new Map() }

const idsOf = (map: TestMap, expected: Partial<Expected> = {}, unfit: string[] = []): unknown =>
  chooseTests(map, mutant, { ...NOTHING, ...expected }, new Set(unfit)).runs.map(({ tests }) => tests?.join())

const DATA_STORE = 'packages/store/src/data-store.test.ts'
const OWN = 'packages/store/src/writing/entity-writer.test.ts'
const CLOSING = 'packages/store/src/closing.test.ts'
const POLICIES = 'packages/cleaner/test/write-policies.test.ts'

it('the choice has the tests that run the statement, and whole files that run it outside of tests', () => {
  const map = mapOf(testFile(OWN, ['a', 1, [6]], ['b', 1, [6, 7]]), {
    ...testFile(CLOSING, ['c', 1, []], ['d', 2, []]),
    probes: [7],
  })
  expect(idsOf(map)).toEqual(['b', 'c,d'])
  expect(chooseTests(map, mutant, NOTHING, new Set())).toMatchObject({
    count: 3,
    runs: [{ longestMs: 1 }, { longestMs: 2 }],
  })
})

it('the last killer comes first, then the tests likely to fail soon', () => {
  const map = mapOf(
    testFile(POLICIES, ['cleaner', 1, [7]]),
    testFile(DATA_STORE, ['long', 90, [7]]),
    testFile(CLOSING, ['short', 5, [7]]),
    testFile(OWN, ['own', 100, [7]]),
  )
  expect(idsOf(map)).toEqual(['own', 'short', 'long', 'cleaner'])
  expect(idsOf(map, { lastKiller: POLICIES })).toEqual(['cleaner', 'own', 'short', 'long'])
  const kills = new Map([
    [DATA_STORE, 3],
    [OWN, 2],
    [POLICIES, 3],
  ])
  expect(idsOf(map, { kills })).toEqual(['own', 'long', 'cleaner', 'short'])
  const slow = mapOf(testFile(CLOSING, ['short', 5, [7]]), testFile(DATA_STORE, ['long', 5_000, [7]]))
  expect(idsOf(slow, { kills })).toEqual(['short', 'long'])
  expect(idsOf(slow, { kills: new Map([[DATA_STORE, 40]]) })).toEqual(['long', 'short'])
})

it('unreliable tests are left out', () => {
  const map = mapOf(testFile(OWN, ['a', 1, [7]], ['b', 1, [7]]), testFile(CLOSING, ['c', 1, [7]]))
  expect(idsOf(map, {}, ['a', 'c'])).toEqual(['b'])
})
