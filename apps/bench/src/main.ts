import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { findServer, howToInstall } from '@looseleaf-tooling/mariadb'
import { checkServers, openMysqlBackend, ServerUnreachable } from './backends/mysql-backend.ts'
import { openSqliteBackend } from './backends/sqlite-backend.ts'
import type { Backend, BackendName } from './backends/backend.ts'
import { runBench, type BackendResult } from './bench.ts'
import { parseOptions, type Options } from './options.ts'
import { machineFacts } from './report/machine-facts.ts'
import { formatNumber } from './report/numbers.ts'
import { formatTables } from './report/table.ts'
import { scenarios } from './workload/scenarios.ts'

async function main(): Promise<void> {
  // `pnpm bench -- --quick` hands the two dashes on.
  const options = parseOptions(process.argv.slice(2).filter((argument) => argument !== '--'))
  const started = new Date()
  // What would be found out after minutes of measuring is found out now.
  const file = resultFile(options, started)
  await mkdir(dirname(file), { recursive: true })
  await checkServers(options.mysql)
  const machine = machineFacts()
  console.log(
    `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, load ${machine.loadAverage.toFixed(2)}, ` +
      `flush ${formatNumber(machine.flushMs.median)} ms`,
  )
  const results: BackendResult[] = []
  for (const name of backendsToRun(options)) {
    const backend = await openBackend(name, options)
    try {
      results.push(await runBench(backend, options, (what) => console.error(`… ${what}`)))
    } finally {
      await backend.close()
    }
  }
  for (const result of results) console.log(`\n${formatTables(result)}`)
  console.log(`\n${legend(options)}`)
  const { mysql: _, json: __, ...settings } = options
  await writeFile(
    file,
    `${JSON.stringify({ format: 1, started, finished: new Date(), machine, settings, results }, null, 2)}\n`,
  )
  console.log(`\nAll samples are in ${file}`)
}

function backendsToRun(options: Options): readonly BackendName[] {
  if (!options.on.includes('mysql') || options.mysql.length > 0 || findServer() !== undefined)
    return options.on
  if (options.onGiven) throw new Error(`There is no MariaDB or MySQL on this machine.\n${howToInstall}`)
  console.error(`There is no MariaDB or MySQL on this machine, so that part is LEFT OUT.\n${howToInstall}`)
  return options.on.filter((name) => name !== 'mysql')
}

function openBackend(name: BackendName, options: Options): Promise<Backend> {
  if (name === 'sqlite') return openSqliteBackend(options.shards)
  return openMysqlBackend({ urls: options.mysql, shards: options.shards, poolSize: options.pool })
}

function legend({ only, rounds, seconds }: Options): string {
  return [
    ...only.map((name) => `${name}: ${scenarios[name].what}.`),
    `Calls a second: the median of ${rounds} rounds of ${seconds} s, with the least and the greatest. Ratios are taken within a`,
    'round, Looseleaf to hand-written; pairs stand in the same order. The CPU ratio is the other way round: by how much less',
    'CPU time, on both ends together, Looseleaf takes for a call. It depends less on what else the machine does.',
  ].join('\n')
}

function resultFile({ json }: Options, started: Date): string {
  // pnpm runs this in its own folder; a path that was given is meant from where the user stands.
  if (json !== undefined) return resolve(process.env['INIT_CWD'] ?? '.', json)
  const name = started.toISOString().slice(0, 19).replaceAll(':', '-')
  return join(import.meta.dirname, '..', 'results', `${name}.json`)
}

try {
  await main()
} catch (error) {
  console.error(error instanceof ServerUnreachable ? error.message : error)
  process.exitCode = 1
}
