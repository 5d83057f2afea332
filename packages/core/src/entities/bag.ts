/**
 * Value of a property. A bigint is between -2^63 and 2^64-1. A number in a bag may be NaN or infinite, but not in an index;
 * -0 is read back as 0.
 */
export type PropertyValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Date
  | Uint8Array
  | readonly PropertyValue[]
  | { readonly [name: string]: PropertyValue | undefined }

/** The properties of an entity, without its id. An undefined property counts as absent. */
export type Bag = { [name: string]: PropertyValue | undefined }

/** Largest depth of nested objects and arrays. */
export const MAX_DEPTH = 64

/**
 * Largest number of values in a bag: its properties, and every property and element within them. An array or object counts
 * as one, in addition to its contents.
 *
 * A value takes as little as one byte of a body, and far more in memory. With a limit in bytes alone, a small compressed
 * body could exhaust the memory of a process. The worst body of this many values (named empty byte arrays) takes 70 MB and
 * 0.1 to 0.2 s to read, and 30 MB to keep.
 */
export const MAX_VALUES = 100_000
