import { afterAll, expect, it } from 'vitest'
import { findMutants } from './find-mutants.ts'
import { createHost } from './host.ts'
import { mutate, type Mutant } from './mutant.ts'
import { probe } from './probes.ts'
import { readSource } from './targets.ts'
import { tryMutant } from './try-mutant.ts'

const CODE = 'packages/index-engine/src/keys/diff-rows.ts'
const TEST = 'packages/index-engine/src/keys/diff-rows.test.ts'
const LONG_MS = 600_000

const host = createHost(['packages/index-engine'], {})
afterAll(() => host.stop())

const source = readSource(CODE)
const runs = [{ file: TEST }]
const mutants = findMutants(CODE, source)

async function fateOf(mutant: Mutant): Promise<string> {
  const [test] = (await allTests()).tests
  const chosen = { runs: [{ file: TEST, tests: [test!.id], longestMs: 60_000 }], count: 1 }
  return (await tryMutant(mutant, () => chosen, host, { fit: new Set(), unfit: new Set() })).fate
}

async function allTests(texts: Record<string, string> = {}) {
  const answer = await host.ask({ texts, runs, bail: false }, LONG_MS)
  if (answer === 'hung') throw new Error('The tests were not run.')
  return answer.modules[0]!
}

it('the host runs tests with a replacement text, and afterwards with the file again', async () => {
  const failures = async (texts: Record<string, string>): Promise<number> =>
    (await allTests(texts)).tests.filter(({ failed }) => failed !== undefined).length
  expect(await failures({})).toBe(0)
  expect(await failures({ [CODE]: source.replace('!identities.has', 'identities.has') })).toBeGreaterThan(0)
  expect(await failures({})).toBe(0)
})

it('the host reports the statements that each test runs', async () => {
  const probed = probe(CODE, source, 0)
  const { tests, probes } = await allTests({ [CODE]: probed.code })
  const number = probed.probeAt(source.indexOf('return keys.filter'))
  expect(tests.some((test) => test.probes.includes(number))).toBe(true)
  expect(probes).not.toContain(number)
})

it('the host reports whether a mutant is killed or survives', async () => {
  const inverted = mutants.find(({ name }) => name.includes('!identities.has(keyIdentity(key)) → true'))!
  expect(await fateOf(inverted)).toBe('killed')
  const shortcut = mutants.find(({ name }) =>
    name.includes('keys.length === 0 || others.length === 0 → false'),
  )!
  expect(await fateOf(shortcut)).toBe('survived')
})

it('the host aborts a mutant that never ends, and continues', async () => {
  const endless = mutate(source, {
    start: source.indexOf('if (keys.length'),
    end: source.indexOf('if (keys.length'),
    replacement: 'for (;;);',
  })
  expect(await host.ask({ texts: { [CODE]: endless }, runs, bail: true }, 3_000)).toBe('hung')
  expect((await allTests()).tests.every(({ failed }) => failed === undefined)).toBe(true)
})

it('a process that starts has more time for its first test', async () => {
  const [test] = (await allTests()).tests
  host.stop()
  const question = { texts: {}, runs: [{ file: TEST, tests: [test!.id] }], bail: true }
  expect(await host.ask(question, 500)).not.toBe('hung')
})
