import { globSync, writeFileSync, writeSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Reporter, TestModule, TestSuite } from 'vitest/node'
import { isLong } from './long.ts'
import { skipsMysql } from './test-environment.ts'

/** Result of a run. A file that fails to load, or a failing hook, counts as one failed test. */
export interface Tally {
  passed: number
  readonly failed: FailedTest[]
  readonly skipped: SkippedTest[]
}

export interface FailedTest {
  readonly name: string
  /** First line of the error; the full text is further up in the output. */
  readonly message: string
}

export interface SkippedTest {
  readonly name: string
  readonly reason: string
}

/**
 * Lists the skipped and failed tests with their reasons, and ends the output with `N passed, N failed, N
 * skipped`, because a build server may keep only the end. With LOOSELEAF_TALLY=file it writes the tally there
 * as JSON instead of the last line.
 */
export function tallyReporter(): Reporter {
  let root = ''
  return {
    onInit(started) {
      root = started.config.root
    },
    onTestRunEnd(modules, unhandledErrors) {
      const tally = tallyOf(modules)
      for (const error of unhandledErrors) tally.failed.push(failure('outside of any test', [error]))
      if (skipsMysql) tally.skipped.push(...filesLeftOut(root))
      if (tally.skipped.length > 0) {
        console.log(`\n${tally.skipped.length} skipped:`)
        for (const { name, reason } of tally.skipped) console.log(`  ${name}\n    ${reason}`)
      }
      if (!isLong)
        console.log(
          '\nSearches, models, random cases and attacks ran in their short forms; LOOSELEAF_LONG=1 runs them whole.',
        )
      const file = process.env['LOOSELEAF_TALLY']
      if (file === undefined) process.once('exit', () => writeSync(1, formatTally(tally)))
      else writeFileSync(file, JSON.stringify(tally))
    },
  }
}

function tallyOf(modules: readonly TestModule[]): Tally {
  const tally: Tally = { passed: 0, failed: [], skipped: [] }
  for (const module of modules) {
    const path = pathOf(module)
    if (failedByItself(module)) tally.failed.push(failure(path, module.errors()))
    for (const suite of module.children.allSuites()) {
      if (failedByItself(suite)) tally.failed.push(failure(`${path} > ${suite.fullName}`, suite.errors()))
    }
    for (const test of module.children.allTests()) {
      const name = `${path} > ${test.fullName}`
      const { state, errors } = test.result()
      if (state === 'passed') tally.passed++
      else if (state === 'failed') tally.failed.push(failure(name, errors))
      else tally.skipped.push({ name, reason: reasonOf(test) })
    }
  }
  return tally
}

function formatTally({ passed, failed, skipped }: Tally): string {
  const failures = failed.map(({ name, message }) => `  ${name}\n    ${message}\n`)
  const list = failures.length === 0 ? '' : `\nFailed tests:\n${failures.join('')}\n`
  return `${list}${passed} passed, ${failed.length} failed, ${skipped.length} skipped\n`
}

function failure(name: string, errors: readonly { readonly message: string }[] | undefined): FailedTest {
  const lines = (errors?.[0]?.message ?? 'no error was given').split('\n')
  return { name, message: (lines.find((line) => line.trim() !== '') ?? '').trim() }
}

/** Tells whether loading or a hook of the suite failed; tests have errors of their own. */
function failedByItself(suite: TestModule | TestSuite): boolean {
  return suite.errors().length > 0
}

function reasonOf(
  test: ReturnType<TestModule['children']['allTests']> extends Iterable<infer T> ? T : never,
): string {
  const result = test.result()
  if (result.state === 'skipped' && result.note !== undefined) return result.note
  if (test.options.mode === 'todo') return 'to do'
  const named = leftOut(test.name)
  if (named !== undefined) return named
  for (let parent: TestSuite | TestModule = test.parent; parent.type !== 'module'; parent = parent.parent) {
    const suiteNamed = leftOut(parent.name)
    if (suiteNamed !== undefined) return suiteNamed
    if (failedByItself(parent)) return 'not run, because a hook around it failed'
  }
  return failedByItself(test.module) ? 'not run, because a hook around it failed' : 'no reason given'
}

/** Returns the reason from the name of a test or suite; only its author knows what does not apply. */
function leftOut(name: string): string | undefined {
  return /\(left out: ([^)]+)\)$/.exec(name)?.[1]
}

function filesLeftOut(root: string): SkippedTest[] {
  return globSync('{packages,apps,tooling}/*/{src,test}/**/*.int.test.{ts,tsx}', { cwd: root }).map(
    (file) => ({
      name: relative(process.cwd(), join(root, file)),
      reason: 'needs MariaDB or MySQL, and LOOSELEAF_SKIP_MYSQL=1 is set (the whole file counts as one)',
    }),
  )
}

function pathOf(module: TestModule): string {
  return relative(process.cwd(), module.moduleId)
}
