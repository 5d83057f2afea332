import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { markdownTable } from './markdown-table.ts'
import { replicaFailovers } from './matrix/replica-failover.ts'
import { scenarios } from './matrix/scenarios.ts'
import { changesPart } from './report/changes-part.ts'
import { replicasPart } from './report/replicas-part.ts'
import { failoverPart, faultsPart, type Measured } from './report/faults-part.ts'
import { left, number, right } from './report/format.ts'
import { foundPart } from './report/found-part.ts'
import { galeraPart } from './report/galera-part.ts'
import { historyPart } from './report/history-part.ts'
import { mutantsPart, mutantsTables } from './report/mutants-part.ts'
import { mysqlPart, type OnMysql } from './report/mysql-part.ts'
import { runsPart, TABLES } from './report/runs-part.ts'
import { simulationPart } from './report/simulation-part.ts'
import { summary } from './report/summary.ts'
import { loadGaleraResults, loadResults, type GaleraResultFile, type ResultFile } from './results.ts'

const DOCS = new URL('../../../../docs/', import.meta.url)
const PAGE = fileURLToPath(new URL('reliability.md', DOCS))

/** Writes both pages from the last results and returns the path of the first. Throws if there are none. */
export function writeReport(): string {
  const { results, outdated } = loadResults('faults')
  const onMysql = loadResults('faults-on-mysql')
  if (results.length === 0)
    throw new Error('There are no results yet. Run `pnpm faults history` or `pnpm faults matrix` first.')
  for (const name of [...outdated, ...onMysql.outdated])
    console.error(`Skipped a result of an older format: ${name}`)
  const { page, tables } = renderReport(results, loadGaleraResults(), onMysql.results)
  writeFileSync(PAGE, page)
  writeFileSync(new URL(TABLES, DOCS), tables)
  return PAGE
}

/** The page of the outcome, and the page of the tables behind it. */
export interface Report {
  readonly page: string
  readonly tables: string
}

export function renderReport(
  results: readonly ResultFile[],
  galera: readonly GaleraResultFile[] = [],
  onMysql: readonly ResultFile[] = [],
): Report {
  const history = results.find((result) => result.kind === 'history')
  const changes = results.find((result) => result.kind === 'changes')
  const replicas = results.find((result) => result.kind === 'replicas')
  const simulations = results.filter((result) => result.kind === 'simulation')
  const mutants = results.find((result) => result.kind === 'mutants')
  const measured = measuredIn(results)
  const isFailover = ({ scenario }: Measured): boolean => replicaFailovers.includes(scenario)
  const faults = measured.filter((each) => !isFailover(each))
  const failovers = measured.filter(isFailover)
  // Results of removed scenarios still exist.
  const shown = results.filter(
    (result) => !('name' in result) || scenarios.some(({ name }) => name === result.name),
  )
  const named = new Set(shown.flatMap((result) => ('name' in result ? result.name : [])))
  const notRun = scenarios.flatMap(({ name }) => (named.has(name) ? [] : name))
  const brokeOff = shown.flatMap((result) => (result.kind === 'broke off' ? result.name : []))
  const mysql = mysqlIn(onMysql)
  const page = [
    '# Reliability, measured',
    summary({ history, simulations, faults, failovers, galera, mysql, notRun, brokeOff }),
    howMeasured(shown),
    runsPart({
      history,
      changes,
      replicas,
      faults: faults.length,
      failovers: failovers.length,
      simulations: simulations.length,
      galera: galera.length,
      mysql: mysql !== undefined,
    }),
    ...(mutants === undefined ? [] : [mutantsPart(mutants)]),
    notMeasured(shown, mysql),
    repeat(),
  ]
  const tables = [
    `# Reliability, all tables

The tables behind [the outcome](reliability.md). \`pnpm faults report\` writes both pages from the last results; do not edit this one.`,
    ...(history === undefined ? [] : [historyPart(history)]),
    ...(changes === undefined ? [] : [changesPart(changes)]),
    ...(replicas === undefined ? [] : [replicasPart(replicas)]),
    ...(faults.length === 0 ? [] : [faultsPart(faults)]),
    ...(failovers.length === 0 ? [] : [failoverPart(failovers)]),
    ...(simulations.length === 0 ? [] : [simulationPart(simulations)]),
    ...(galera.length === 0 ? [] : [galeraPart(galera)]),
    ...(mysql === undefined ? [] : [mysqlPart(mysql)]),
    ...(mutants === undefined ? [] : [mutantsTables(mutants)]),
    foundPart(),
    provenance(shown, galera, onMysql),
  ]
  return { page: `${page.join('\n\n')}\n`, tables: `${tables.join('\n\n')}\n` }
}

function measuredIn(results: readonly ResultFile[]): Measured[] {
  return scenarios.flatMap((scenario): Measured[] => {
    const result = results.find((each) => each.kind === 'fault' && each.name === scenario.name)
    return result?.kind === 'fault' ? [{ scenario, result }] : []
  })
}

function mysqlIn(results: readonly ResultFile[]): OnMysql | undefined {
  const [server] = results.flatMap((result) => serverOf(result) ?? [])
  if (server === undefined) return undefined
  const history = results.find((result) => result.kind === 'history')
  return { server, history, measured: measuredIn(results) }
}

function howMeasured(results: readonly ResultFile[]): string {
  const each = (pick: (result: ResultFile) => string | number | undefined): string =>
    [...new Set(results.flatMap((result) => pick(result) ?? []))].toSorted().join(', ')
  return `## How it was measured

\`pnpm faults report\` writes this page from the last results; do not edit it. The [specification](spec.md) has the promises.

Measured on: ${each(({ at }) => at.slice(0, 10))}; server ${each((result) => serverOf(result))}; Node ${each(({ node }) => node)};
${each(({ cpus }) => cpus)} processor cores for servers, processes and checkers together; 2 shards unless stated otherwise,
with their data in ${each((result) => ('folder' in result ? result.folder : undefined))}. Commits and seeds are [beside the tables](${TABLES}#sources-of-the-numbers).`
}

/** A simulation has no server. */
const serverOf = (result: ResultFile): string | undefined => ('server' in result ? result.server : undefined)

function notMeasured(results: readonly ResultFile[], mysql: OnMysql | undefined): string {
  const skipped = results.flatMap((result) =>
    'reason' in result ? [`- ${result.name}: ${result.kind}, ${result.reason}.`] : [],
  )
  const known = [
    '- A crash of the machine: a killed server loses nothing that it gave to the operating system.',
    '- Several machines: a proxy injects the network faults.',
    ...(mysql === undefined ? ['- MySQL: these runs used only MariaDB.'] : notOnMysql(mysql)),
    '- Runs of days.',
    '- A server whose own clock is past January 2038: MariaDB 10.11 cuts the time of a session off there. Later-dated entities are measured.',
  ]
  return `## Not measured\n\n${[...skipped, ...known].join('\n')}`
}

function notOnMysql({ measured }: OnMysql): string[] {
  const names = new Set(measured.map(({ scenario }) => scenario.name))
  const not = scenarios.flatMap(({ name }) => (names.has(name) ? [] : name))
  return not.length === 0 ? [] : [`- On MySQL: ${not.join('; ')}.`]
}

/** Returns the commit, seed, date and duration behind every table and line. */
function provenance(
  results: readonly ResultFile[],
  galera: readonly GaleraResultFile[],
  onMysql: readonly ResultFile[],
): string {
  const minute = (at: string): string => `${at.slice(0, 16).replace('T', ' ')}`
  const rows = [
    ...[...results, ...onMysql]
      .toSorted((a, b) => (a.at < b.at ? -1 : 1))
      .map((result) => {
        const on = onMysql.includes(result) ? 'MySQL: ' : ''
        const name = `${on}${'name' in result ? result.name : result.kind}`
        if ('reason' in result) return [name, '', result.commit, minute(result.at), result.kind]
        if (result.kind === 'simulation') {
          const { from, to, seconds } = result.run
          return [name, `${from}–${to}`, result.commit, minute(result.at), number(seconds)]
        }
        if (result.kind === 'mutants' || result.kind === 'changes' || result.kind === 'replicas')
          return [name, '', result.commit, minute(result.at), number(result.run.seconds)]
        const { seed, seconds } = result.run
        return [name, String(seed), result.commit, minute(result.at), number(seconds)]
      }),
    ...galera.map(({ name, content }) => [
      `Galera: ${name}`,
      '',
      content.commit ?? 'not recorded',
      minute(content.at),
      '',
    ]),
  ]
  return `## Sources of the numbers

A commit with a + had uncommitted changes. Times are UTC.

${markdownTable([left('run'), right('seed'), left('commit'), left('ended'), right('seconds')], rows)}`
}

function repeat(): string {
  return `## To repeat it

\`\`\`sh
pnpm sim --seeds 200000
pnpm faults history --seed 1
pnpm faults matrix --seed 1
pnpm faults matrix 'kill -9 of servers' --amount 50
pnpm mysql fetch && LOOSELEAF_MYSQLD=$PWD/.data/mysql/mysqld pnpm faults matrix
pnpm faults changes --minutes 30
pnpm faults replicas --minutes 10
pnpm galera failover
pnpm mutants
pnpm faults report
\`\`\`

The seed decides what is written and which faults happen. On real servers their timing depends on the machine, so two runs differ. A
seed of the simulation always gives the same run. Short forms run with the default tests.`
}
