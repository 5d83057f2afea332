/*
 * What a file may be. Most of it is held against these before a parser builds anything of it; time and memory are for
 * what no count foresees.
 */

/** In bytes. */
export const LARGEST_FILE: number = 8 * 1024 * 1024
/** Elements of XML; objects and lists of JSON. */
export const MOST_ELEMENTS = 200_000
export const MOST_ATTRIBUTES = 200_000
/** Of one element. */
export const MOST_ATTRIBUTES_OF_ONE = 200
/** Elements, or objects and lists, within each other. */
export const DEEPEST = 200
export const LONGEST_PARSE_MS = 15_000
export const MOST_MEMORY_MB = 512

/** Thrown for a file that is beyond a limit. The message is for whoever brought it, and names the limit. */
export class BeyondLimit extends Error {
  override readonly name = 'BeyondLimit'
}

/** `limit` as people write it: 200,000. */
export function beyond(what: string, limit: number): BeyondLimit {
  return new BeyondLimit(`The file has ${what.replace('#', limit.toLocaleString('en'))}.`)
}
