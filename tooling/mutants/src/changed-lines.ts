import { execFileSync } from 'node:child_process'
import { ROOT } from './targets.ts'

/** Tells whether a line of a file, counted from 1, has changed since a revision. */
export type IsChanged = (file: string, line: number) => boolean

export function changedSince(revision: string): IsChanged {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  const added = readDiff(
    git('diff', '--unified=0', '--no-color', '--no-ext-diff', revision, '--', 'packages'),
  )
  return (file, line) => (added.get(file) ?? []).some(([from, to]) => from <= line && line < to)
}

/** Returns the added ranges of lines per file, from a diff without context. */
export function readDiff(diff: string): ReadonlyMap<string, readonly (readonly [number, number])[]> {
  const ranges = new Map<string, [number, number][]>()
  let file = ''
  for (const line of diff.split('\n')) {
    const path = /^\+\+\+ b\/(.*)$/.exec(line)?.[1]
    if (path !== undefined) file = path
    const hunk = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line)
    if (hunk === null) continue
    const from = Number(hunk[1])
    ranges.set(file, [...(ranges.get(file) ?? []), [from, from + Number(hunk[2] ?? 1)]])
  }
  return ranges
}
