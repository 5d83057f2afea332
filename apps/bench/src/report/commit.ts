import { execFileSync } from 'node:child_process'

/** The commit that is checked out where this code is, or in a folder, with a + where the work tree differs from it; undefined outside of a checkout. */
export function commitOfCheckout(folder = import.meta.dirname): string | undefined {
  const git = (...words: readonly string[]): string =>
    execFileSync('git', words, {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  try {
    return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : '+'}`
  } catch {
    return undefined
  }
}
