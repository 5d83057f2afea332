import { chooseTests, type ChosenTests } from './choose-tests.ts'
import { sourcesHash } from './hashes.ts'
import { createHost, type Host } from './host.ts'
import type { Mutant } from './mutant.ts'
import { loadOutcomes, type Outcome } from './outcomes.ts'
import { mapTests, type TestMap } from './test-map.ts'
import { keepScratchInMemory } from './scratch.ts'
import { createTestServers } from './test-servers.ts'
import { targetFiles } from './targets.ts'
import { tryMutant, type Trust } from './try-mutant.ts'

export interface RunOptions {
  readonly workers: number
  /** Whether to retry mutants with a known outcome. */
  readonly again: boolean
  readonly tell: (line: string) => void
}

const needsServers = (test: string): boolean => test.endsWith('.int.test.ts')

/** Returns the outcome of each mutant, in order. Valid outcomes of earlier runs are reused. */
export async function runMutants(
  mutants: readonly Mutant[],
  options: RunOptions,
): Promise<readonly Outcome[]> {
  const targets = targetFiles()
  const tests = [...new Set(mutants.flatMap(({ file }) => targets.get(file) ?? []))]
  const folders = [...new Set(tests.map((file) => file.split('/').slice(0, 2).join('/')))]
  const outcomes = loadOutcomes(sourcesHash())
  const deleteScratch = keepScratchInMemory()
  const servers = createTestServers()
  const hosts: Host[] = []
  const addHost = async (withServers: boolean): Promise<Host> => {
    const host = createHost(folders, withServers ? await servers.environment() : {})
    hosts.push(host)
    return host
  }
  try {
    const map = await mapAll(tests, addHost, options)
    const trust: Trust = { fit: new Set(), unfit: new Set() }
    const choose = (mutant: Mutant): ChosenTests =>
      chooseTests(
        map,
        mutant,
        { lastKiller: outcomes.lastKiller(mutant), kills: outcomes.kills(mutant.file) },
        trust.unfit,
      )
    const filesFor = (mutant: Mutant): string[] => choose(mutant).runs.map(({ file }) => file)
    const knownOf = (mutant: Mutant): Outcome | undefined => outcomes.of(mutant, filesFor(mutant).toSorted())
    const todo = options.again ? mutants : mutants.filter((mutant) => knownOf(mutant) === undefined)
    if (todo.length < mutants.length) options.tell(`${mutants.length - todo.length} are known.`)
    const withServers = todo.some((mutant) => filesFor(mutant).some(needsServers))
    const queue = [...todo]
    let done = 0
    let unnoticed = 0
    const work = async (host: Host): Promise<void> => {
      for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
        const current = mutant
        const found = await tryMutant(current, () => choose(current), host, trust)
        outcomes.add(current, filesFor(current).toSorted(), found)
        done++
        if (found.fate === 'survived' || found.fate === 'not reached') unnoticed++
        if (done % 25 === 0) options.tell(`${done} of ${todo.length}, ${unnoticed} survived`)
      }
    }
    const own = await Promise.all(Array.from({ length: options.workers }, () => addHost(withServers)))
    await Promise.all(own.map(work))
    if (trust.unfit.size > 0) options.tell(`${trust.unfit.size} tests do not pass alone: left out.`)
    return mutants.map((mutant) => knownOf(mutant) as Outcome)
  } finally {
    for (const host of hosts) host.stop()
    await servers.stop()
    deleteScratch()
  }
}

async function mapAll(
  tests: readonly string[],
  addHost: (withServers: boolean) => Promise<Host>,
  { tell }: RunOptions,
): Promise<TestMap> {
  const own = new Map<boolean, Promise<Host>>()
  const hostFor = (test: string): Promise<Host> => {
    const withServers = needsServers(test)
    const host = own.get(withServers) ?? addHost(withServers)
    own.set(withServers, host)
    return host
  }
  let count = 0
  const map = await mapTests(tests, hostFor, () => {
    if (count++ === 0) tell('Recording the statements of each test …')
  })
  for (const host of own.values()) (await host).stop()
  return map
}
