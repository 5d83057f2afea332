import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findServer } from '@looseleaf-tooling/mariadb'
import type { HistoryRun } from './history/run-history.ts'
import type { ScenarioRun } from './matrix/run-scenario.ts'

/** Git-ignored; the page that is rendered from it is not. */
const FOLDER = fileURLToPath(new URL('../../../.data/faults/', import.meta.url))

/** Where and when a result was measured. */
export interface Circumstances {
  readonly at: string
  readonly server: string
  readonly node: string
  readonly cpus: number
  readonly commit: string
  /** Where the servers kept their data. */
  readonly folder: string
}

export interface HistoryResultFile extends Circumstances {
  readonly kind: 'history'
  readonly run: HistoryRun
}

export interface ScenarioResultFile extends Circumstances {
  readonly kind: 'fault'
  readonly name: string
  readonly run: ScenarioRun
}

export interface SkippedResultFile extends Circumstances {
  readonly kind: 'skipped'
  readonly name: string
  readonly reason: string
}

export type ResultFile = HistoryResultFile | ScenarioResultFile | SkippedResultFile

export function circumstances(): Circumstances {
  return {
    at: new Date().toISOString(),
    server: findServer()?.version.match(/Ver (\S+)/)?.[1] ?? 'none',
    node: process.version,
    cpus: availableParallelism(),
    folder: tmpdir(),
    commit: execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim(),
  }
}

/** Keeps the newest result of each name. */
export function saveResult(name: string, result: ResultFile): string {
  mkdirSync(FOLDER, { recursive: true })
  const path = join(FOLDER, `${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.json`)
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`)
  return path
}

export function loadResults(): ResultFile[] {
  if (!existsSync(FOLDER)) return []
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as ResultFile)
}
