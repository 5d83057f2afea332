/**
 * Functions of a test runner, which the contracts call. Vitest's module and Jest's globals have them under these names. In `node:test`
 * and Mocha the last two are called `before` and `after`.
 */
export interface TestFunctions {
  readonly describe: (name: string, body: () => void) => unknown
  readonly test: {
    (name: string, body: () => void | Promise<void>): unknown
    /** Lists a test without running it. */
    readonly skip: (name: string, body: () => void | Promise<void>) => unknown
  }
  /** Runs before all tests of the innermost `describe`. */
  readonly beforeAll: (body: () => Promise<void>) => unknown
  /** Runs after them. */
  readonly afterAll: (body: () => Promise<void>) => unknown
}
