import type { Driver } from '@looseleaf/core'
import type { IndexTableSpec } from '@looseleaf/core/internal'
import {
  entriesOf,
  indexesWithMissingTables,
  loadShardCatalog,
  nextGenerations,
  sameEntry,
  tableSpec,
} from '@looseleaf/index-engine/internal'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import type { Settings } from '../running/invocation.ts'

const DETAILS = `For accounts that may not create tables: run the SQL on every shard, then run
\`looseleaf init\`, which finds the tables. The SQL includes the tables of all
indexes in the config and in the store.

JSON: { "shards": [{ "name", "statements": [sql] }] }`

export const addSchema: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'schema',
    summary: 'Print the SQL that creates the tables, without running it',
    details: DETAILS,
    examples: [
      ['schema > schema.sql', 'the SQL for the config’s shards and indexes'],
      ['schema --shards sqlite:old', 'the SQL for another store'],
    ],
  }).does(async ({ output, settings, signal }) => {
    const given = await settings()
    const driver = await given.shards.connect()
    try {
      const specs = await indexTables(driver, given, signal)
      const shards = driver.shards.map((shard) => ({
        name: shard.name,
        statements: shard.schema(specs).map((statement) => statement.trim().replace(/;$/, '')),
      }))
      output.result({ shards }, () => {
        const bySql = Map.groupBy(shards, ({ statements }) => `${statements.join(';\n\n')};`)
        return [...bySql]
          .map(([sql, same]) => `-- On ${same.map(({ name }) => name).join(', ')}\n${sql}`)
          .join('\n\n')
      })
    } finally {
      await driver.close()
    }
  })
}

/**
 * Returns the tables of the store's indexes and of the indexes that the config adds. For an index whose table is missing it
 * returns the table of the next generation, as `init` creates it.
 */
async function indexTables(
  driver: Driver,
  settings: Settings,
  signal: AbortSignal,
): Promise<IndexTableSpec[]> {
  const [first] = driver.shards
  const catalog = first && (await loadShardCatalog(first, { signal }))
  const known = catalog?.indexes.filter(({ state }) => state === 'building' || state === 'ready') ?? []
  const withoutTable = new Set(await indexesWithMissingTables(driver, known, { signal }))
  const kept = known.filter((entry) => !withoutTable.has(entry))
  const added = settings.indexes
    .flatMap(entriesOf)
    .filter((each) => !known.some((entry) => sameEntry(entry, each)))
  const fresh = nextGenerations(catalog?.indexes ?? [], [...withoutTable, ...added])
  return [...kept, ...fresh].map(tableSpec)
}
