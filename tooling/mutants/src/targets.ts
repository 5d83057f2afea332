import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The folder of the repository, with a slash at its end. */
export const ROOT: string = fileURLToPath(new URL('../../../', import.meta.url))

/** The protocol's code, by package: what keeps entities and index rows together, and what answers from them. */
const CODE: Readonly<Record<string, string>> = {
  'index-engine':
    '{catalog,change-catalog,derive-rows,diff-rows,engine-context,judge-rows,lost-tables,merge-rows,plan-query,run-query}.ts',
  store: '{deferring,entity-writer,index-row-writer,manage-indexes,open-store}.ts',
  cleaner: '*.ts',
  'driver-kysely': '{entity-statements,entity-table,own-writes,swap-winners}.ts',
  'driver-mysql': 'flavor.ts',
  'driver-sqlite': 'flavor.ts',
}

/** Packages whose tests may notice; of the one on MySQL those that run its tables, not its connections. */
export const TESTS: readonly string[] = [
  'packages/{index-engine,store,cleaner,driver-kysely,driver-sqlite}/{src,test}/**/*.test.ts',
  'packages/driver-mysql/src/{contract,read-back,far-times,access-paths}.int.test.ts',
]

/** The files that are changed, relative to the root. */
export function targetFiles(): readonly string[] {
  return Object.entries(CODE)
    .flatMap(([name, pattern]) => {
      const files = globSync(`packages/${name}/src/${pattern}`, { cwd: ROOT })
      if (files.length === 0) throw new Error(`packages/${name}/src/${pattern}: no such file.`)
      return files
    })
    .filter((file) => !/\.(?:test|test-d)\.ts$|\/index\.ts$/.test(file))
    .toSorted()
}

export function testFiles(): readonly string[] {
  return globSync(TESTS as string[], { cwd: ROOT }).toSorted()
}
