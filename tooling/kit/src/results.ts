import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/**
 * Program and database of a measurement: a folder of `docs/measured`, kept in git, so that one run can be
 * repeated alone.
 */
export type Measurer = 'faults' | 'faults-on-mysql' | 'galera'

/** Time and place of a measurement. */
export interface Circumstances {
  /** Time of its end, in ISO 8601. */
  readonly at: string
  readonly node: string
  readonly cpus: number
  /** Short commit id, with a + if sources were changed; `unknown` outside a checkout. */
  readonly commit: string
}

export function circumstances(): Circumstances {
  return {
    at: new Date().toISOString(),
    node: process.version,
    cpus: availableParallelism(),
    commit: commitNow(),
  }
}

function commitNow(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim()
  try {
    const changed = git('status', '--porcelain', '--', 'packages', 'tooling') !== ''
    return git('rev-parse', '--short', 'HEAD') + (changed ? '+' : '')
  } catch {
    return 'unknown'
  }
}

/** Saves the newest result of each name; returns the file's path. */
export function saveResult(by: Measurer, name: string, result: object): string {
  const folder = folderOf(by)
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.json`)
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`)
  return path
}

/** Returns all saved results, by name. */
export function loadResults(by: Measurer): { readonly name: string; readonly content: unknown }[] {
  const folder = folderOf(by)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => ({
      name: name.slice(0, -'.json'.length),
      content: JSON.parse(readFileSync(join(folder, name), 'utf8')) as unknown,
    }))
}

const folderOf = (by: Measurer): string => join(ROOT, 'docs/measured', by)
