import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Root folder of the repository, with a trailing slash. */
export const ROOT: string = fileURLToPath(new URL('../../../', import.meta.url))

/** Code, and the tests that must notice its mutants. */
interface MutatedCode {
  readonly code: readonly string[]
  readonly tests: readonly string[]
}

/**
 * The protocol: code that keeps entities and index rows consistent, and code that answers from them; and the
 * kinds above it.
 */
const MUTATED_CODE: readonly MutatedCode[] = [
  {
    code: [
      'packages/index-engine/src/catalog/{catalog,catalog-holder,change-catalog,exact-indexes,layout,missing-tables,owners,placement,read-catalogs,requirements,row-places,shard-epochs}.ts',
      'packages/index-engine/src/conditions/matching-key.ts',
      'packages/index-engine/src/definitions/{key-functions,predicate,property-value}.ts',
      'packages/index-engine/src/keys/{derive-rows,diff-rows,near-key,near-property,open-index,shard-of-row}.ts',
      'packages/index-engine/src/pages/{judge-rows,merge-rows,plan-query,run-query}.ts',
    ],
    tests: ['packages/{index-engine,store}/src/**/*.test.ts'],
  },
  {
    code: [
      'packages/protocol/src/{.,consumers}/*.ts',
      'packages/store/src/catalog/{catalog-watch,deferring,exchange-indexes,manage-indexes,policies,replace-lost-indexes}.ts',
      'packages/store/src/opening/{arrange-shards,check-router,initialise,late-shard,open-store,stored-bodies}.ts',
      'packages/store/src/reading/changes/*.ts',
      'packages/store/src/calls/local-share.ts',
      'packages/store/src/reading/rows/*.ts',
      'packages/store/src/writing/**/*.ts',
    ],
    // Some leftovers of writers show only when a cleaner runs, floors, places and leases when a consumer does, and prepared writes with kinds,
    // and late claims and failing changes when buckets move.
    tests: [
      'packages/{changes,protocol,store}/src/**/*.test.ts',
      'packages/cleaner/src/repair/*.test.ts',
      'packages/cleaner/test/!(*.int).test.ts',
      'packages/kinds/test/batch-writes.test.ts',
      'packages/looseleaf/test/moves/{late-claims,consumers/!(*.int)}.test.ts',
    ],
  },
  {
    code: [
      'packages/mover/src/**/*.ts',
      'packages/protocol/src/{follow-changes,moves,owners}/*.ts',
      'packages/store/src/shards/*.ts',
    ],
    // Most of it shows only when buckets of a whole store move.
    tests: [
      'packages/{mover,protocol,store}/src/**/*.test.ts',
      'packages/cleaner/test/announced-moves.test.ts',
      'packages/looseleaf/test/!(*.int|article|command|types).test.ts',
      'packages/looseleaf/test/moves/**/!(*.int|*.long).test.ts',
    ],
  },
  {
    code: ['packages/cleaner/src/**/*.ts'],
    // If SQLite does not show a mutant of this code, MariaDB does not either. Some show only when buckets move, or when shards are removed.
    tests: [
      'packages/cleaner/{src,test}/**/!(*.int).test.ts',
      'packages/looseleaf/test/shard-removals.test.ts',
      'packages/looseleaf/test/moves/{cleaning,fillings,remade-targets,consumers/phases}.test.ts',
    ],
  },
  {
    code: ['packages/changes/src/{consumer,records,report,watch}/*.ts'],
    tests: [
      'packages/changes/src/**/*.test.ts',
      'packages/looseleaf/test/{consumed-kinds,consumers-of-removed-shards,moves/consumers/!(*.int)}.test.ts',
    ],
  },
  {
    code: ['packages/kinds/src/*.ts'],
    tests: ['packages/kinds/{src,test}/*.test.ts'],
  },
  {
    code: [
      'packages/driver-kysely/src/database/epoch-fence.ts',
      'packages/driver-kysely/src/entities/{changes-range,entity-batch,entity-calls,entity-copies,entity-statements,entity-table}.ts',
      'packages/driver-kysely/src/{claims,local-rows}/*.ts',
      'packages/driver-kysely/src/indexes/joined-scans.ts',
      'packages/driver-{mysql/src/kysely,sqlite/src}/flavor.ts',
      'packages/driver-mysql/src/{connection/packets,kysely/batched-swap}.ts',
    ],
    // Tests of the MySQL driver's tables and of the packets of a connection, without others of its connections.
    tests: [
      'packages/driver-kysely/src/*/*.test.ts',
      // The tests of file modes need a process of their own; file modes are not mutated.
      'packages/driver-sqlite/src/!(file-modes).test.ts',
      'packages/driver-mysql/{src/{kysely/*,connection/{connection,packets,packets.int},settings/mix*.int},test/contract.int}.test.ts',
    ],
  },
]

/** Returns the mutated files, each with the tests that may notice; relative to the root. */
export function targetFiles(): ReadonlyMap<string, readonly string[]> {
  return new Map(
    MUTATED_CODE.flatMap(({ code, tests }) => {
      const testFiles = filesOf(tests)
      return filesOf(code)
        .filter((file) => !/\.(?:test|test-d)\.ts$|\/index\.ts$/.test(file))
        .map((file): [string, readonly string[]] => [file, testFiles])
    }),
  )
}

function filesOf(patterns: readonly string[]): readonly string[] {
  return patterns
    .flatMap((pattern) => {
      const files = globSync(pattern, { cwd: ROOT })
      if (files.length === 0) throw new Error(`No file matches ${pattern}.`)
      return files
    })
    .toSorted()
}

export function readSource(file: string): string {
  return readFileSync(ROOT + file, 'utf8')
}
