import { circumstances, saveResult, type Circumstances } from '@looseleaf-tooling/results'

/** A run over all of the protocol's code, as it is kept for the page on reliability. */
export interface MutantsResultFile extends Circumstances {
  readonly kind: 'mutants'
  readonly run: MutantsRun
}

export interface MutantsRun {
  readonly seconds: number
  readonly workers: number
  readonly files: readonly FileResult[]
}

export interface FileResult {
  readonly file: string
  /** Those without a reason why no test can notice them. */
  readonly mutants: number
  readonly killed: number
  /** Noticed, because a test did not end any more. */
  readonly hung: number
  /** Line and name of each that no test noticed. */
  readonly survived: readonly string[]
  /** Name and reason of each that no test can notice. */
  readonly equivalent: readonly (readonly [name: string, reason: string])[]
}

export function saveMutants(run: MutantsRun): string {
  const file: MutantsResultFile = { kind: 'mutants', ...circumstances(), run }
  return saveResult('faults', file.kind, file)
}
