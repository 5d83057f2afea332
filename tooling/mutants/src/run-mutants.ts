import { isMapped, mapTests, treeHash, type TestMap } from './test-map.ts'
import { chooseTests } from './choose-tests.ts'
import { createHost, type Host } from './host.ts'
import type { Mutant } from './mutant.ts'
import { loadOutcomes, type Outcome } from './outcomes.ts'
import { createTestServers } from './test-servers.ts'
import { targetFiles, testFiles } from './targets.ts'
import { tryMutant, type Trust } from './try-mutant.ts'

export interface RunOptions {
  readonly workers: number
  /** Whether to try again what was tried with the very same code and tests. */
  readonly again: boolean
  readonly tell: (line: string) => void
}

/** What came of each mutant, in their order. What an earlier run has found for this very code is not run again. */
export async function runMutants(
  mutants: readonly Mutant[],
  { workers, again, tell }: RunOptions,
): Promise<readonly Outcome[]> {
  const tests = testFiles()
  const outcomes = loadOutcomes(treeHash(tests))
  const todo = mutants.filter((mutant) => again || outcomes.of(mutant) === undefined)
  if (todo.length < mutants.length) tell(`${mutants.length - todo.length} are known from a run before.`)
  const folders = [...new Set(tests.map((file) => file.split('/').slice(0, 2).join('/')))]
  const servers = createTestServers()
  const hosts: Host[] = []
  try {
    if (todo.length > 0) {
      const map = await mapAll()
      await tryAll(todo, map)
    }
  } finally {
    for (const host of hosts) host.stop()
    await servers.stop()
  }
  return mutants.map((mutant) => outcomes.of(mutant) as Outcome)

  async function addHost(withServers: boolean): Promise<Host> {
    const host = createHost(folders, withServers ? await servers.environment() : {})
    hosts.push(host)
    return host
  }

  async function mapAll(): Promise<TestMap> {
    const host = isMapped(tests) ? undefined : await addHost(true)
    const map = await mapTests(
      targetFiles(),
      tests,
      () => host as Host,
      (done) => {
        if (done % 10 === 0) tell(`What do the tests run? ${done} of ${tests.length} files.`)
      },
    )
    host?.stop()
    return map
  }

  async function tryAll(todo: readonly Mutant[], map: TestMap): Promise<void> {
    const trust: Trust = { fit: new Set(), unfit: new Set() }
    const queue = [...todo]
    const needsServers = todo.some((mutant) =>
      chooseTests(map, mutant, undefined, trust.unfit).runs.some(({ file }) => file.endsWith('.int.test.ts')),
    )
    let done = 0
    let unnoticed = 0
    const work = async (host: Host): Promise<void> => {
      for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
        const found = await tryMutant(mutant, map, outcomes, host, trust)
        outcomes.add(mutant, found)
        done++
        if (found.fate === 'survived' || found.fate === 'not reached') unnoticed++
        if (done % 25 === 0) tell(`${done} of ${todo.length}, ${unnoticed} not noticed`)
      }
    }
    const own = await Promise.all(Array.from({ length: workers }, () => addHost(needsServers)))
    await Promise.all(own.map(work))
    if (trust.unfit.size > 0) tell(`${trust.unfit.size} tests do not pass alone, and were left out.`)
  }
}
