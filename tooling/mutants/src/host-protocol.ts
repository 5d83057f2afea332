/** A test file to run, or some of its tests. */
export interface TestRun {
  readonly file: string
  /** Ids; all of them when undefined. */
  readonly tests?: readonly string[] | undefined
}

export interface Question {
  /** What stands in these files instead of what does, by path. */
  readonly texts: Readonly<Record<string, string>>
  /** In the order in which they are to be run. */
  readonly runs: readonly TestRun[]
  /** Whether to end with the first test that fails. */
  readonly bail: boolean
  /** Milliseconds; as configured when undefined. */
  readonly testTimeout?: number | undefined
}

export interface RanTest {
  readonly id: string
  readonly name: string
  /** The message of the failure. */
  readonly failed: string | undefined
  readonly ms: number
  /** Numbers of the statements that it ran. */
  readonly probes: readonly number[]
}

export interface RanModule {
  readonly file: string
  /** Of loading it, and of hooks. */
  readonly errors: readonly string[]
  /** Of what ran outside of its tests. */
  readonly probes: readonly number[]
  readonly tests: readonly RanTest[]
}

export interface Answer {
  readonly modules: readonly RanModule[]
  /** Those that no test had caught. */
  readonly errors: readonly string[]
  readonly ms: number
}

/** What the process says: that a test has ended, then the answer. */
export type FromHost = { readonly alive: true } | { readonly given: Answer } | { readonly failed: string }
