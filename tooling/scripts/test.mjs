// `npm test`: everything that has to hold, from a clone to one last line. Needs Node >= 20 and npm; what else is missing
// it installs where it can, or says how. Further arguments go to vitest: `npm test -- packages/router`.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { install } from './lib/install.mjs'
import { pnpmCommand, root, tool } from './lib/project.mjs'
import { ensureChromium, ensureMariadb, ensureOptionalPrograms, requireNode } from './lib/requirements.mjs'
import { run } from './lib/run.mjs'
import { createSteps } from './lib/steps.mjs'

requireNode()

const { step, failed, print } = createSteps()
const turbo = (...task) =>
  run(pnpmCommand('exec', 'turbo', 'run', ...task, '--output-logs=errors-only', '--continue'))
let chromium
let tally = { passed: 0, failed: [], skipped: [] }

const ready =
  (await step('install', install)) &&
  (await step('MariaDB', ensureMariadb)) &&
  (await step('Chromium', async () => {
    chromium = await ensureChromium()
    console.log(chromium ?? '')
    return chromium === undefined ? 1 : 0
  })) &&
  (await step('memcached and HAProxy', ensureOptionalPrograms))

if (ready) {
  // The steps are independent, so a failing step does not stop the next ones.
  await step('typecheck', typecheck)
  await step('lint', () => run([tool('oxlint'), '--deny-warnings']))
  await step('format', () => run([tool('oxfmt'), '--check']))
  await step('build', build)
  await step('publint', () => turbo('publint', '--only'))
  await step('tests', runTests)
}

print()
const steps = failed()
if (steps.length > 0) console.log(`\nFailed: ${steps.join(', ')}`)
for (const { name, message } of tally.failed) console.log(`  ${name}\n    ${message}`)
// A step that fails without a failing test, such as the type check, counts as one.
const others = steps.filter((name) => name !== 'tests' || tally.failed.length === 0).length
const failures = tally.failed.length + others
console.log(`\n${tally.passed} passed, ${failures} failed, ${tally.skipped.length} skipped`)
process.exitCode = steps.length > 0 ? 1 : 0

/**
 * Checks all packages as one program, which takes a third of the time of one program for each. A long run checks
 * each by itself, so a package cannot depend on a global type of another.
 */
async function typecheck() {
  if (process.env.LOOSELEAF_LONG === '1') return turbo('typecheck')
  const codes = []
  // More checkers than cores only repeat each other's work.
  const checkers = String(Math.min(4, availableParallelism()))
  // The models leave out one check.
  for (const folder of ['.', 'tooling/models'])
    codes.push(await run([tool('tsc'), '-p', folder, '--checkers', checkers]))
  return Math.max(...codes)
}

/**
 * Writes the same files as `pnpm build`, in a third of the time: the types are already checked. A long run checks each
 * package against the built ones too, as a release does.
 */
function build() {
  if (process.env.LOOSELEAF_LONG === '1') return turbo('build')
  const configs = ['packages', 'apps'].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => join(folder, name, 'tsconfig.build.json')),
  )
  const existing = configs.filter((config) => existsSync(join(root, config)))
  return run([tool('tsc'), '--build', '--force', '--noCheck', ...existing])
}

async function runTests() {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-tally-'))
  const file = join(folder, 'tally.json')
  try {
    const env = { LOOSELEAF_TALLY: file, LOOSELEAF_CHROMIUM: chromium }
    const code = await run([tool('vitest'), 'run', ...process.argv.slice(2)], { env })
    try {
      tally = JSON.parse(readFileSync(file, 'utf8'))
    } catch {
      console.error('vitest ended without a result.')
      return code === 0 ? 1 : code
    }
    return tally.failed.length > 0 && code === 0 ? 1 : code
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
