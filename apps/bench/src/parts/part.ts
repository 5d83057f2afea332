import type { Bench } from '../bench.ts'

/** A part of a run that can be measured alone. */
export interface Part {
  /** For the list of parts. */
  readonly what: string
  run(bench: Bench): Promise<void>
}
