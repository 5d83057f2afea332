import type { Driver, IndexTableSpec } from '@looseleaf/core'
import {
  entriesOf,
  indexesWithLostTables,
  loadShardCatalog,
  nextGenerations,
  sameEntry,
  tableSpec,
} from '@looseleaf/index-engine'
import { defineCommand, type AddCommand } from '../define-command.ts'
import type { CommonOptions, Settings } from '../session.ts'

const DETAILS = `For accounts that may not create tables: run the SQL on every shard, then run
\`looseleaf init\`, which finds the tables there. It has the tables of the indexes
that the config and the store have.

JSON: { "shards": [{ "name", "statements": [sql] }] }`

/** `looseleaf schema`: the statements of `init`, for those who run them by hand. */
export const addSchema: AddCommand = (program, run) => {
  defineCommand(program, {
    usage: 'schema',
    summary: 'Print the SQL that creates the tables, without running it',
    details: DETAILS,
    examples: [
      ['schema > schema.sql', 'the SQL of the config’s shards and indexes'],
      ['schema --shards sqlite:old', 'that of another store'],
    ],
  }).action((options: CommonOptions) =>
    run(options, async ({ output, settings, signal }) => {
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
    }),
  )
}

/**
 * The tables of the store's own indexes, and of those that the config adds. One that is missing is no more created under
 * its name: `init` begins such an index anew, as its next generation.
 */
async function indexTables(
  driver: Driver,
  settings: Settings,
  signal: AbortSignal,
): Promise<IndexTableSpec[]> {
  const [first] = driver.shards
  const catalog = first && (await loadShardCatalog(first, { signal }))
  const known = catalog?.indexes.filter(({ state }) => state === 'building' || state === 'ready') ?? []
  const lost = new Set(await indexesWithLostTables(driver, known, { signal }))
  const kept = known.filter((entry) => !lost.has(entry))
  const added = settings.indexes
    .flatMap(entriesOf)
    .filter((each) => !known.some((entry) => sameEntry(entry, each)))
  const fresh = nextGenerations(catalog?.indexes ?? [], [...lost, ...added])
  return [...kept, ...fresh].map(tableSpec)
}
