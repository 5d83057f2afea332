import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createBench } from './bench.ts'
import { parseOptions, type Options } from './options.ts'
import { parts } from './parts/all-parts.ts'
import { htmlPage } from './report/html/page.ts'
import { commitOfCheckout } from './report/commit.ts'
import { machineFacts } from './report/machine-facts.ts'
import { createProgress } from './report/progress.ts'
import { noResults, withPart, type Results } from './report/results.ts'
import { formatPart } from './report/table.ts'
import { createServers } from './servers/all-servers.ts'
import { checkServers, ServerUnreachable } from './servers/mariadb.ts'
import type { ServerKind } from './sides/side.ts'

async function main(): Promise<void> {
  // `pnpm bench -- --quick` passes the two dashes on.
  const options = parseOptions(process.argv.slice(2).filter((argument) => argument !== '--'))
  // Checked before measuring starts: a failure after some minutes would waste them.
  const folder = await resultFolder(options)
  await checkServers(options.mysql)
  const servers = createServers(options.mysql)
  const leftOut = kinds.flatMap((kind) => servers.missing(kind) ?? [])
  for (const reason of leftOut) console.error(`LEFT OUT: ${reason}\n`)
  const progress = createProgress(options.parts.length)
  const commit = commitOfCheckout()
  let isMeasured = false
  try {
    for (const [number, name] of options.parts.entries()) {
      progress.part(number, name)
      const started = new Date()
      const machine = machineFacts()
      const {
        bench,
        rows,
        series,
        leftOut: unmeasured,
      } = createBench({
        part: name,
        scale: options.scale,
        sides: options.sides,
        scenarios: options.scenarios,
        bag: options.bag,
        serverOf: servers.of,
        missing: servers.missing,
        progress: progress.step,
      })
      await parts[name].run(bench)
      progress.stop()
      for (const reason of unmeasured) console.error(`LEFT OUT: ${reason}\n`)
      if (rows.length === 0) {
        console.error(`${name}: this part has none of the selected sides and scenarios.`)
        continue
      }
      isMeasured = true
      console.log(`\n${formatPart(name, rows)}`)
      const facts = {
        started: started.toISOString(),
        finished: new Date().toISOString(),
        scale: options.scale.name,
        machine,
        commit,
        servers: servers.facts(),
        leftOut: [...leftOut, ...unmeasured],
      }
      await writeResults(folder, withPart(await readResults(folder), name, facts, rows, series))
    }
  } finally {
    progress.stop()
    await servers.close()
  }
  if (!isMeasured) throw new NothingMeasured(describeSelection(options))
  console.log(`\nThe results are in ${join(folder, 'latest.json')}, and as a page in latest.html beside it.`)
}

/** Thrown if no selected part has a selected scenario on a selected side. The message is for people. */
class NothingMeasured extends Error {
  override readonly name = 'NothingMeasured'
}

const describeSelection = ({ parts: names, sides, scenarios }: Options): string =>
  `Nothing was measured: no part of ${names.join(', ')} has a scenario of ${scenarios.join(', ')} ` +
  `with a side of ${sides.join(', ')} whose server can be used.`

const kinds: readonly ServerKind[] = ['mariadb', 'postgres', 'sqlite']

async function resultFolder({ out }: Options): Promise<string> {
  // pnpm runs this program in the package's folder; a given path is relative to the user's folder.
  const folder =
    out === undefined
      ? join(import.meta.dirname, '..', 'results')
      : resolve(process.env['INIT_CWD'] ?? '.', out)
  await mkdir(folder, { recursive: true })
  return folder
}

async function readResults(folder: string): Promise<Results> {
  try {
    return JSON.parse(await readFile(join(folder, 'latest.json'), 'utf8')) as Results
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return noResults
    throw error
  }
}

/** Writes both files. `main` calls it after every part, so a run that is interrupted loses at most one part. */
async function writeResults(folder: string, results: Results): Promise<void> {
  await writeFile(join(folder, 'latest.json'), `${JSON.stringify(results, null, 1)}\n`)
  await writeFile(join(folder, 'latest.html'), htmlPage(results))
}

try {
  await main()
} catch (error) {
  console.error(
    error instanceof ServerUnreachable || error instanceof NothingMeasured ? error.message : error,
  )
  process.exitCode = 1
}
