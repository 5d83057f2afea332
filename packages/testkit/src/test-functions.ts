/**
 * What a test runner has to give for the contracts: Vitest's module is of this shape, and so are Jest's globals. `node:test` and
 * Mocha call the last two `before` and `after`.
 */
export interface TestFunctions {
  readonly describe: (name: string, body: () => void) => unknown
  readonly test: {
    (name: string, body: () => void | Promise<void>): unknown
    /** A test that is listed and not run. */
    readonly skip: (name: string, body: () => void | Promise<void>) => unknown
  }
  /** Before and after all tests of the innermost `describe`. */
  readonly beforeAll: (body: () => Promise<void>) => unknown
  readonly afterAll: (body: () => Promise<void>) => unknown
}
