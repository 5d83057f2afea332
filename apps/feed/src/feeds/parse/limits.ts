/*
 * Limits of an imported file. Counts are checked before a parser builds a tree. Time and memory limits catch files that pass the
 * counts.
 */

export const MAX_FILE_BYTES: number = 8 * 1024 * 1024
/** XML elements, or JSON objects and arrays. */
export const MAX_ELEMENTS = 200_000
export const MAX_ATTRIBUTES = 200_000
export const MAX_ATTRIBUTES_PER_ELEMENT = 200
/** `<!DOCTYPE …>`, and the entities that it declares. */
export const MAX_DECLARATIONS = 1_000
/** Nested XML elements, or nested JSON objects and arrays. */
export const MAX_DEPTH = 200
export const MAX_PARSE_MS = 15_000
export const MAX_MEMORY_MB = 512

/** Thrown for a file beyond a limit. The message names the limit and is for the person who imports the file. */
export class BeyondLimit extends Error {
  override readonly name = 'BeyondLimit'
}

/** Returns an error with the limit in place of `#`, formatted like 200,000. */
export function beyond(excess: string, limit: number): BeyondLimit {
  return new BeyondLimit(`The file has ${excess.replace('#', limit.toLocaleString('en'))}.`)
}
