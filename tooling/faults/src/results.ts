import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findServer } from '@looseleaf-tooling/mariadb'
import type { HistoryRun } from './history/run-history.ts'
import type { ScenarioRun } from './matrix/run-scenario.ts'

const FOLDER_OF_SOURCES = fileURLToPath(new URL('../../../', import.meta.url))
/** Git-ignored; the page that is rendered from it is not. */
const FOLDER = fileURLToPath(new URL('../../../.data/faults/', import.meta.url))
/** What the runs of `tooling/galera` have left. */
const GALERA_FOLDER = fileURLToPath(new URL('../../../.data/galera/', import.meta.url))

/** Where and when a result was measured. */
export interface Circumstances {
  readonly at: string
  readonly server: string
  readonly node: string
  readonly cpus: number
  /** Short, with a + where sources were changed since. */
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

/** A scenario that this machine cannot have, or that something else than the store has ended. */
export interface AbsentResultFile extends Circumstances {
  readonly kind: 'skipped' | 'broke off'
  readonly name: string
  readonly reason: string
}

/** What `pnpm sim` has left, over all its seeds; `tooling/simulation` writes it. */
export interface SimulationResultFile extends Partial<Circumstances> {
  readonly kind: 'simulation'
  readonly at: string
  readonly commit: string
  readonly run: {
    /** The first and the last seed. */
    readonly from: number
    readonly to: number
    readonly seeds: number
    readonly seconds: number
    readonly steps: number
    /** How often it was looked whether anything committed is missing. */
    readonly checks: number
    readonly operations: number
    readonly acknowledged: number
    readonly failed: number
    readonly unknown: number
    readonly reads: number
    readonly queries: number
    /** How often each kind of fault has happened. */
    readonly faults: Readonly<Record<string, number>>
    /** Lives by what their stores were opened with. */
    readonly lives: Readonly<Record<string, number>>
    readonly violations: readonly { readonly seed: number; readonly what: string }[]
  }
}

export type ResultFile = HistoryResultFile | ScenarioResultFile | AbsentResultFile | SimulationResultFile

/** A run in which the written node was taken away again and again. */
export interface GaleraRounds {
  readonly at: string
  readonly commit?: string | undefined
  readonly options: { readonly fault?: string | undefined }
  readonly rounds: readonly { readonly firstWriteMs: number; readonly rejoinMs: number }[]
  readonly tally: {
    readonly acknowledged: number
    readonly refused: Readonly<Record<string, number>>
    readonly unknown: number
    readonly unknownDone: number
    readonly unknownNotDone: number
    readonly looks: number
    readonly staleLooks: number
    readonly wrongs: readonly string[]
  }
  readonly end: { readonly missing: number; readonly dangling: number }
  readonly nodesEqual: boolean
}

/** A file of `tooling/galera`: rounds, or the numbers of something else that was tried. */
export interface GaleraResultFile {
  readonly name: string
  readonly content: GaleraRounds | { readonly at: string; readonly commit?: string | undefined }
}

export function circumstances(): Circumstances {
  return {
    at: new Date().toISOString(),
    server: findServer()?.version.match(/Ver (\S+)/)?.[1] ?? 'none',
    node: process.version,
    cpus: availableParallelism(),
    folder: tmpdir(),
    commit: commitNow(),
  }
}

function commitNow(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', FOLDER_OF_SOURCES, ...args], { encoding: 'utf8' }).trim()
  const changed = git('status', '--porcelain', '--', 'packages', 'tooling') !== ''
  return git('rev-parse', '--short', 'HEAD') + (changed ? '+' : '')
}

/** Keeps the newest result of each name. */
export function saveResult(name: string, result: ResultFile): string {
  mkdirSync(FOLDER, { recursive: true })
  const path = join(FOLDER, `${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.json`)
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`)
  return path
}

/** All that runs have left; what was written by an older program, and cannot be shown any more, by name. */
export function loadResults(): { readonly results: ResultFile[]; readonly outdated: string[] } {
  const files = filesOf(FOLDER)
  // Programs of ours wrote them, though perhaps not today's.
  const all = files.map(({ name, content }) => ({ name, result: content as ResultFile }))
  return {
    results: all.flatMap(({ result }) => (isCurrent(result) ? [result] : [])),
    outdated: all.flatMap(({ name, result }) => (isCurrent(result) ? [] : [name])),
  }
}

export function loadGaleraResults(): GaleraResultFile[] {
  return filesOf(GALERA_FOLDER) as GaleraResultFile[]
}

function isCurrent(result: ResultFile): boolean {
  switch (result.kind) {
    case 'fault':
      return 'resources' in result.run
    case 'history':
      return 'resources' in result.run
    case 'simulation':
      return 'run' in result
    case 'skipped':
    case 'broke off':
      return true
  }
}

function filesOf(folder: string): { readonly name: string; readonly content: unknown }[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => ({
      name: name.slice(0, -'.json'.length),
      content: JSON.parse(readFileSync(join(folder, name), 'utf8')) as unknown,
    }))
}
