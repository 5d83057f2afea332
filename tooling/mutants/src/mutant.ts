/** A span of a file, and its replacement. */
export interface Change {
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** A file of the protocol with one change that a test should notice. */
export interface Mutant extends Change {
  /** Relative to the root, such as `packages/store/src/writing/entity-writer.ts`. */
  readonly file: string
  /**
   * Name within the file: the function and the change, such as `nextSize: Math.min(a, b) → Math.max(a, b)`.
   * It does not depend on other code of the file.
   */
  readonly name: string
  readonly line: number
}

export function mutate(source: string, { start, end, replacement }: Change): string {
  return source.slice(0, start) + replacement + source.slice(end)
}
