import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Host } from './host.ts'
import type { RanTest } from './host-protocol.ts'
import { probe, type Probed } from './probes.ts'
import { readJson, writeJson } from './store-files.ts'
import { ROOT } from './targets.ts'

/** A test, with what it runs. */
export type KnownTest = Pick<RanTest, 'id' | 'name' | 'ms' | 'probes'>

export interface KnownTestFile {
  readonly file: string
  /** Statements that run outside of its tests, so that each of them may notice. */
  readonly probes: readonly number[]
  readonly tests: readonly KnownTest[]
}

/** Which tests run which statements of the files that are changed. */
export interface TestMap {
  readonly files: readonly KnownTestFile[]
  /** The number of the statement at an offset of a file. */
  probeAt(file: string, offset: number): number
}

/** Numbers of statements of one file are below this. */
const PROBES_PER_FILE = 10_000
const SILENCE_MS = 600_000

interface Cached {
  /** Of everything but test files. */
  readonly sources: string
  readonly files: Readonly<Record<string, { readonly hash: string; readonly known: KnownTestFile }>>
}

/**
 * Runs every test file once, unless it and all sources are as they were when it was last run. Throws when a test fails,
 * for then it would seem to notice everything.
 */
export async function mapTests(
  targets: readonly string[],
  tests: readonly string[],
  host: () => Host,
  onFile: (done: number) => void,
): Promise<TestMap> {
  const probed = new Map(
    targets.map((file, i): [string, Probed] => [
      file,
      probe(file, readFileSync(ROOT + file, 'utf8'), i * PROBES_PER_FILE),
    ]),
  )
  const texts = Object.fromEntries([...probed].map(([file, { code }]) => [file, code]))
  const sources = hashOf(sourceFiles())
  const cached = readJson<Cached>('test-map')
  const old = cached?.sources === sources ? cached.files : {}
  const files: Record<string, { hash: string; known: KnownTestFile }> = {}
  for (const [i, file] of tests.entries()) {
    const hash = hashOf([file])
    const before = old[file]
    if (before?.hash === hash) {
      files[file] = before
      continue
    }
    onFile(i)
    files[file] = { hash, known: await runOnce(file, texts, host()) }
    writeJson('test-map', { sources, files: { ...old, ...files } } satisfies Cached)
  }
  const isBlind = Object.values(files).every(({ known }) => known.probes.length === 0)
  if (isBlind) throw new Error('No test file seems to run any of the code: the probes are not there.')
  return {
    files: Object.values(files).map(({ known }) => known),
    probeAt: (file, offset) => probed.get(file)?.probeAt(offset) ?? -1,
  }
}

/** Files that the list does not need to have run; so a file of MySQL's does not start a server for nothing. */
export function isMapped(tests: readonly string[]): boolean {
  const cached = readJson<Cached>('test-map')
  return (
    cached?.sources === hashOf(sourceFiles()) &&
    tests.every((file) => cached.files[file]?.hash === hashOf([file]))
  )
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

/** All that tests may load, but for the tests. */
function sourceFiles(): string[] {
  return globSync('{packages,tooling}/*/{src,test}/**/*.ts', { cwd: ROOT })
    .filter((file) => !/\.test\.ts$/.test(file) && !/^tooling\/(?:faults|galera|mutants|simulation)\//.test(file))
    .toSorted()
}

/** Of the names and contents of all code and all tests: outcomes are good for one of it. */
export function treeHash(tests: readonly string[]): string {
  return hashOf([...sourceFiles(), ...tests])
}

function hashOf(files: readonly string[]): string {
  const hash = createHash('sha256')
  for (const file of files) hash.update(file).update(readFileSync(join(ROOT, file)))
  return hash.digest('hex').slice(0, 16)
}
