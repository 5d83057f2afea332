import { tmpdir } from 'node:os'
import { findServer } from '@looseleaf-tooling/mariadb'
import type { MutantsResultFile } from '@looseleaf-tooling/mutants'
import * as results from '@looseleaf-tooling/kit/results'
import type { SimulationResultFile } from '@looseleaf-tooling/simulation'
import type { ChangesRun } from './changes/run-changes.ts'
import type { HistoryRun } from './history/run-history.ts'
import type { ReplicasRun } from './replicas/run-replicas.ts'
import type { ScenarioRun } from './matrix/run-scenario.ts'

/** Place and time of a measurement. */
export interface Circumstances extends results.Circumstances {
  readonly server: string
  /** Folder of the servers' data. */
  readonly folder: string
}

export interface HistoryResultFile extends Circumstances {
  readonly kind: 'history'
  readonly run: HistoryRun
}

export interface ChangesResultFile extends Circumstances {
  readonly kind: 'changes'
  readonly run: ChangesRun
}

export interface ReplicasResultFile extends Circumstances {
  readonly kind: 'replicas'
  readonly run: ReplicasRun
}

export interface ScenarioResultFile extends Circumstances {
  readonly kind: 'fault'
  readonly name: string
  readonly run: ScenarioRun
}

/** A scenario that this machine cannot run, or that was aborted by something other than the store. */
export interface AbsentResultFile extends Circumstances {
  readonly kind: 'skipped' | 'broke off'
  readonly name: string
  readonly reason: string
}

export type ResultFile =
  | HistoryResultFile
  | ChangesResultFile
  | ReplicasResultFile
  | ScenarioResultFile
  | AbsentResultFile
  | SimulationResultFile
  | MutantsResultFile

/** A run that repeatedly took away the written node. */
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

/** A file of `pnpm galera`: rounds, or the figures of a single experiment. */
export interface GaleraResultFile {
  readonly name: string
  readonly content: GaleraRounds | { readonly at: string; readonly commit?: string | undefined }
}

export function circumstances(): Circumstances {
  return {
    ...results.circumstances(),
    server: findServer()?.version.match(/Ver (\S+)/)?.[1] ?? 'none',
    folder: tmpdir(),
  }
}

/** Saves a result. Results on MySQL and on MariaDB are kept apart. */
export function saveResult(name: string, result: ResultFile): string {
  return results.saveResult(findServer()?.flavor === 'mysql' ? 'faults-on-mysql' : 'faults', name, result)
}

/**
 * Loads all results of one kind of server. Names the files of an older format, which cannot be shown any
 * more.
 */
export function loadResults(by: 'faults' | 'faults-on-mysql'): {
  readonly results: ResultFile[]
  readonly outdated: string[]
} {
  const files = results.loadResults(by)
  // Our programs wrote the files, perhaps in an older version.
  const all = files.map(({ name, content }) => ({ name, result: content as ResultFile }))
  return {
    results: all.flatMap(({ result }) => (isCurrent(result) ? [result] : [])),
    outdated: all.flatMap(({ name, result }) => (isCurrent(result) ? [] : [name])),
  }
}

export function loadGaleraResults(): GaleraResultFile[] {
  return results.loadResults('galera') as GaleraResultFile[]
}

function isCurrent(result: ResultFile): boolean {
  switch (result.kind) {
    case 'fault':
      return 'resources' in result.run
    case 'history':
      return 'resources' in result.run
    case 'changes':
    case 'replicas':
    case 'simulation':
    case 'mutants':
      return 'run' in result
    case 'skipped':
    case 'broke off':
      return true
  }
}
