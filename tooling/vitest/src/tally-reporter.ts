import { globSync, writeFileSync, writeSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Reporter, TestModule, TestProject, TestSuite, Vitest } from 'vitest/node'
import { skipsMysql } from './test-environment.ts'

/** What a run came to. A file that could not be loaded or a hook that failed counts as one failed test. */
export interface Tally {
  passed: number
  failed: number
  readonly skipped: SkippedTest[]
}

export interface SkippedTest {
  readonly name: string
  readonly reason: string
}

/**
 * Lists the skipped tests with their reasons and ends the output with `N passed, N failed, N skipped`.
 * With LOOSELEAF_TALLY=file it writes the tally there as JSON instead of that line, for a caller that has more to say.
 */
export function tallyReporter(): Reporter {
  let vitest: Vitest | undefined
  return {
    onInit(started) {
      vitest = started
    },
    onTestRunEnd(modules, unhandledErrors) {
      const tally = tallyOf(modules)
      tally.failed += unhandledErrors.length
      if (skipsMysql) tally.skipped.push(...(vitest?.projects ?? []).flatMap(filesLeftOut))
      if (tally.skipped.length > 0) {
        console.log(`\n${tally.skipped.length} skipped:`)
        for (const { name, reason } of tally.skipped) console.log(`  ${name}\n    ${reason}`)
      }
      const file = process.env['LOOSELEAF_TALLY']
      if (file === undefined) process.once('exit', () => writeSync(1, `${formatTally(tally)}\n`))
      else writeFileSync(file, JSON.stringify(tally))
    },
  }
}

export function tallyOf(modules: readonly TestModule[]): Tally {
  const tally: Tally = { passed: 0, failed: 0, skipped: [] }
  for (const module of modules) {
    if (failedByItself(module)) tally.failed++
    for (const suite of module.children.allSuites()) if (failedByItself(suite)) tally.failed++
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed') tally.passed++
      else if (state === 'failed') tally.failed++
      else tally.skipped.push({ name: `${pathOf(module)} > ${test.fullName}`, reason: reasonOf(test) })
    }
  }
  return tally
}

export function formatTally({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed, ${skipped.length} skipped`
}

/** Errors of a suite are those of its loading and its hooks; the tests in it have their own. */
function failedByItself(suite: TestModule | TestSuite): boolean {
  return suite.errors().length > 0
}

function reasonOf(
  test: ReturnType<TestModule['children']['allTests']> extends Iterable<infer T> ? T : never,
): string {
  const result = test.result()
  if (result.state === 'skipped' && result.note !== undefined) return result.note
  // A contract suite says it in the name, because only its user knows what does not apply.
  const named = /\(left out: ([^)]+)\)$/.exec(test.name)?.[1]
  if (named !== undefined) return named
  if (test.options.mode === 'todo') return 'to do'
  for (let parent: TestSuite | TestModule = test.parent; ; parent = parent.parent) {
    if (failedByItself(parent)) return 'not run, because a hook around it failed'
    if (parent.type === 'module') break
  }
  return 'no reason given'
}

function filesLeftOut(project: TestProject): SkippedTest[] {
  const root = project.config.root
  return globSync('{src,test}/**/*.int.test.{ts,tsx}', { cwd: root }).map((file) => ({
    name: relative(process.cwd(), join(root, file)),
    reason: 'needs MariaDB or MySQL, and LOOSELEAF_SKIP_MYSQL=1 is set (the whole file counts as one)',
  }))
}

function pathOf(module: TestModule): string {
  return relative(process.cwd(), module.moduleId)
}
