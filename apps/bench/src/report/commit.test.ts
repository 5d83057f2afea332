import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { commitOfCheckout } from './commit.ts'

test('the commit of a checkout gets a + if the work tree differs, and is undefined outside of a checkout', () => {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-bench-commit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const git = (...words: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.invalid', ...words], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  expect(commitOfCheckout(folder)).toBeUndefined()
  git('init')
  // A checkout without commits has no HEAD.
  expect(commitOfCheckout(folder)).toBeUndefined()
  git('commit', '--allow-empty', '--message', 'First')
  const commit = git('rev-parse', '--short', 'HEAD')
  expect(commitOfCheckout(folder)).toBe(commit)
  writeFileSync(join(folder, 'new.txt'), '')
  expect(commitOfCheckout(folder)).toBe(`${commit}+`)
})
