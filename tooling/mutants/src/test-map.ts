import { hashOf, sourcesHash } from './hashes.ts'
import type { Host } from './host.ts'
import type { RanTest } from './host-protocol.ts'
import { probe, type Probed } from './probes.ts'
import { readJson, writeJson } from './store-files.ts'
import { readSource, targetFiles } from './targets.ts'

/** A test, with the statements that it runs. */
export type KnownTest = Pick<RanTest, 'id' | 'name' | 'ms' | 'probes'>

export interface KnownTestFile {
  readonly file: string
  /** Statements that run outside of tests; every test of the file may notice a change of them. */
  readonly probes: readonly number[]
  readonly tests: readonly KnownTest[]
}

/** Maps statements of the mutated files to the tests that run them. */
export interface TestMap {
  readonly files: ReadonlyMap<string, KnownTestFile>
  /** Returns the number of the statement at an offset of a file. */
  probeAt(file: string, offset: number): number
}

/** Upper bound of the number of statements in a file. */
const PROBES_PER_FILE = 10_000
const SILENCE_MS = 600_000

interface Cached {
  readonly sources: string
  readonly files: Readonly<Record<string, { readonly hash: string; readonly known: KnownTestFile }>>
}

/**
 * Runs each of these test files once, unless it and all sources are unchanged since its last run. Throws if a
 * test fails, because a failing test would seem to kill every mutant.
 */
export async function mapTests(
  tests: readonly string[],
  hostFor: (test: string) => Promise<Host>,
  onFile: (file: string) => void,
): Promise<TestMap> {
  const probed = new Map(
    [...targetFiles().keys()].map((file, i): [string, Probed] => [
      file,
      probe(file, readSource(file), i * PROBES_PER_FILE),
    ]),
  )
  const texts = Object.fromEntries([...probed].map(([file, { code }]) => [file, code]))
  const sources = sourcesHash()
  const cached = readJson<Cached>('test-map')
  const files = { ...(cached?.sources === sources ? cached.files : {}) }
  for (const file of tests) {
    const hash = hashOf([file])
    if (files[file]?.hash === hash) continue
    onFile(file)
    files[file] = { hash, known: await runOnce(file, texts, await hostFor(file)) }
    writeJson('test-map', { sources, files } satisfies Cached)
  }
  const found = tests.flatMap((file) => files[file]?.known ?? [])
  const isBlind = found.every(({ probes, tests: each }) =>
    [{ probes }, ...each].every((one) => one.probes.length === 0),
  )
  if (isBlind) throw new Error('No test ran any of the code, so the probes do not work.')
  return {
    files: new Map(found.map((known) => [known.file, known])),
    probeAt: (file, offset) => probed.get(file)?.probeAt(offset) ?? -1,
  }
}

async function runOnce(
  file: string,
  texts: Readonly<Record<string, string>>,
  host: Host,
): Promise<KnownTestFile> {
  const answer = await host.ask({ texts, runs: [{ file }], bail: false }, SILENCE_MS)
  if (answer === 'hung') throw new Error(`${file}: no test ended for ${SILENCE_MS / 1000} s.`)
  const [module] = answer.modules
  if (module === undefined) throw new Error(`${file}: it was not run.`)
  const failures = [
    ...answer.errors,
    ...module.errors,
    ...module.tests.flatMap(({ name, failed }) => (failed === undefined ? [] : `${name}: ${failed}`)),
  ]
  if (failures.length > 0) throw new Error(`${file} fails without any mutant:\n${failures.join('\n')}`)
  const known = module.tests.map(({ id, name, ms, probes }) => ({ id, name, ms, probes }))
  return { file, probes: module.probes, tests: known }
}
