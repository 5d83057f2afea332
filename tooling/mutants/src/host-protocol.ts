/** A test file to run, with all or some of its tests. */
export interface TestRun {
  readonly file: string
  /** Ids of tests; undefined means all. */
  readonly tests?: readonly string[] | undefined
}

export interface Question {
  /** Replacement texts of files, by path. */
  readonly texts: Readonly<Record<string, string>>
  /** Runs in execution order. */
  readonly runs: readonly TestRun[]
  /** Whether to stop at the first failure. */
  readonly bail: boolean
  /** Timeout in milliseconds; undefined means the configured one. */
  readonly testTimeout?: number | undefined
}

export interface RanTest {
  readonly id: string
  readonly name: string
  /** Message of the failure, if any. */
  readonly failed: string | undefined
  readonly ms: number
  /** Numbers of the statements that the test ran. */
  readonly probes: readonly number[]
}

export interface RanModule {
  readonly file: string
  /** Errors while loading the file, and in hooks. */
  readonly errors: readonly string[]
  /** Statements that ran outside of tests. */
  readonly probes: readonly number[]
  readonly tests: readonly RanTest[]
}

export interface Answer {
  readonly modules: readonly RanModule[]
  /** Errors that no test caught. */
  readonly errors: readonly string[]
  readonly ms: number
}

/** Messages of the process: one after each test, then the answer. */
export type FromHost = { readonly alive: true } | { readonly given: Answer } | { readonly failed: string }
