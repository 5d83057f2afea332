import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkNames, checks } from '@looseleaf-tooling/simulation'
import { readSpec } from './read-spec.ts'
import { titlesIn } from './titles.ts'

const root = join(import.meta.dirname, '../../../..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Its checks count as tests. */
const SIMULATION = 'tooling/simulation/src/checks.ts'

/** Titles of each file that an invariant names. */
const titles = new Map<string, ReadonlySet<string>>([[SIMULATION, new Set(checkNames)]])

function titlesOf(file: string): ReadonlySet<string> {
  let found = titles.get(file)
  if (found === undefined) titles.set(file, (found = new Set(titlesIn(file, read(file)))))
  return found
}

const invariants = readSpec(read('docs/spec.md'))

it('the spec has invariants, each with a distinct number', () => {
  const numbers = invariants.map(({ number }) => number)
  expect(numbers.length).toBeGreaterThan(20)
  expect(numbers).not.toContain(undefined)
  expect(new Set(numbers).size).toBe(numbers.length)
})

describe.each(invariants)('$title', ({ tests }) => {
  it('an invariant names at least one test, and none twice', () => {
    expect(tests.length).toBeGreaterThan(0)
    expect(new Set(tests.map(({ file, name }) => `${file} ${name}`)).size).toBe(tests.length)
  })

  it.each(tests)('$file has "$name"', ({ file, name }) => {
    expect(existsSync(join(root, file)), `${file} is not there`).toBe(true)
    expect(titlesOf(file)).toContain(name)
  })
})

it('every check of the simulation is named by exactly the invariants that it enforces', () => {
  const named = invariants.flatMap(({ number, tests }) =>
    tests.filter(({ file }) => file === SIMULATION).map(({ name }) => `${number} ${name}`),
  )
  const said = checkNames.flatMap((name) => checks[name].map((number) => `${number} ${name}`))
  expect(named.toSorted()).toEqual(said.toSorted())
})

it('the reader of the page reports an invariant without a test', () => {
  expect(readSpec('### 1.1 Something\n\nprose\n')).toEqual([
    { number: '1.1', title: '1.1 Something', tests: [] },
  ])
})
