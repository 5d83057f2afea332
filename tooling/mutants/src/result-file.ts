import { circumstances, saveResult, type Circumstances } from '@looseleaf-tooling/kit/results'

/** A run over all of the protocol's code, as stored for the page on reliability. */
export interface MutantsResultFile extends Circumstances {
  readonly kind: 'mutants'
  readonly run: MutantsRun
}

export interface MutantsRun {
  readonly seconds: number
  readonly workers: number
  /** Each n-th mutant was tried; undefined or 1 for all of them. */
  readonly every?: number
  readonly files: readonly FileResult[]
}

export interface FileResult {
  readonly file: string
  /** Mutants without the equivalent ones. */
  readonly mutants: number
  readonly killed: number
  /** Mutants killed by a test that no longer ended. */
  readonly hung: number
  /** Line and name of each survivor. */
  readonly survived: readonly string[]
  /** Name and reason of each equivalent mutant. */
  readonly equivalent: readonly (readonly [name: string, reason: string])[]
}

export function saveMutants(run: MutantsRun): string {
  const file: MutantsResultFile = { kind: 'mutants', ...circumstances(), run }
  return saveResult('faults', file.kind, file)
}
