import type { Bench } from '../bench.ts'

/** A part of the benchmark, which can run alone. */
export interface Part {
  /** Title of the part in the report; starts in lower case. */
  readonly description: string
  run(bench: Bench): Promise<void>
}
