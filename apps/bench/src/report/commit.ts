import { execFileSync } from 'node:child_process'

/** Returns the short hash of a folder's HEAD, with a + if the work tree differs from it; undefined outside of a checkout. Default: this folder. */
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
