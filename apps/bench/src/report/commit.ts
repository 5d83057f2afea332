import { execFileSync } from 'node:child_process'

/** The commit that is checked out, with a + where the work tree differs from it; undefined outside of a checkout. */
export function commitOfCheckout(): string | undefined {
  const git = (...words: readonly string[]): string =>
    execFileSync('git', words, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  try {
    return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : '+'}`
  } catch {
    return undefined
  }
}
