// `pnpm single-lanes`: runs every test with lanes that carry one item per statement. No promise of the store
// may depend on calls sharing statements, so only tests of the sharing itself may fail.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tally } from './tally-reporter.ts'

/** Beginnings of the names of tests that count statements, or that let calls share an error. */
const aboutSharing = [
  'packages/changes/src/consumer/dead-letter-writes.test.ts > dead letters of a partition that arise at the same time share a write',
  // Expects progress within some seconds of its own clock.
  'packages/changes/src/consumer/hours.test.ts > changes that fail at once and are retried at once take turns in all partitions, and others proceed',
  'packages/console/src/console.test.ts > equal calls that share statements are one row of an X-ray, with the numbers of the statements',
  'packages/core/src/tools/lane-work.test.ts > a statement runs for all of its calls, and for none of an earlier statement',
  'packages/driver-mysql/src/kysely/flush.int.test.ts > flush > a flush is a commit with a change, and concurrent calls share one',
  'packages/driver-sqlite/src/shared-statements.test.ts > ',
  'packages/looseleaf/test/many-queries.int.test.ts > ',
  'packages/opentelemetry/src/telemetry.test.ts > spans > calls that share a statement and the statement have links to each other',
  'packages/store/src/calls/shard-lanes.test.ts > ',
  'packages/store/src/observing/observing.test.ts > a trace > a trace has each statement that its calls share with others',
  'packages/store/src/observing/observing.test.ts > an observer > an observer receives the number of calls that share a statement',
  'packages/store/src/observing/observing.test.ts > an observer > an observer receives an event when a statement is halved because of one row',
  'packages/store/src/observing/slow-calls.test.ts > slow calls of a store > a slow call has only its own statements, and no values',
  'packages/store/src/store-stats.test.ts > stats have the lanes',
  'packages/store/src/reading/queries/list-page.test.ts > a list > concurrent lists share statements that read versions',
  'packages/store/src/reading/queries/many-queries.test.ts > ',
  'apps/feed/src/domain/sources/save-sources.test.ts > a long list is imported up to the limit, in batches',
  'apps/feed/src/domain/accounts/sessions.test.ts > a session and its person are read together, by one statement on one shard',
  'apps/feed/test/cost.test.ts > ',
  'apps/feed/test/mariadb.int.test.ts > the foot of a page counts the statements of the servers, and the home page keeps its budget',
  'tooling/models/src/model-based/flaws.test.ts > the model notices when scans of one call get each other’s rows',
  // Its cleaners meet a write in progress, which they leave to their next round.
  "packages/cleaner/test/write-policies.test.ts > onIndexFailure: 'defer' > two cleaners that drain concurrently",
]

const folder = mkdtempSync(join(tmpdir(), 'looseleaf-single-lanes-'))
try {
  const file = join(folder, 'tally.json')
  const root = join(import.meta.dirname, '../../..')
  spawnSync(join(root, 'node_modules/.bin/vitest'), ['run', ...process.argv.slice(2)], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, LOOSELEAF_SINGLE_LANES: '1', LOOSELEAF_TALLY: file },
  })
  const { passed, failed, skipped } = JSON.parse(readFileSync(file, 'utf8')) as Tally
  const others = failed.filter(({ name }) => !aboutSharing.some((beginning) => name.startsWith(beginning)))
  for (const { name, message } of others) console.log(`FAILED: ${name}\n    ${message}`)
  const shared = failed.length - others.length
  console.log(
    `\n${passed} passed, ${others.length} failed, ${skipped.length} skipped; ${shared} that are about sharing failed, as they should.`,
  )
  // If none of them fails, the lanes have gathered as usual.
  process.exitCode = others.length > 0 || shared === 0 ? 1 : 0
} finally {
  rmSync(folder, { recursive: true, force: true })
}
