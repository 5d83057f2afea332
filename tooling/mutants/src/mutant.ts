/** A span of a file, and what replaces it. */
export interface Change {
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** A file of the protocol with one change that a test ought to notice. */
export interface Mutant extends Change {
  /** Relative to the root, such as `packages/store/src/writing/entity-writer.ts`. */
  readonly file: string
  /**
   * Its name within the file: the function and what changes, such as `nextSize: Math.min(a, b) → Math.max(a, b)`. It stays
   * the same while other code of the file changes.
   */
  readonly name: string
  readonly line: number
}

export function mutate(source: string, { start, end, replacement }: Change): string {
  return source.slice(0, start) + replacement + source.slice(end)
}
