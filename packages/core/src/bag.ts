/**
 * What a property may hold. A bigint stands between -2^63 and 2^64-1. Numbers may be NaN or infinite in a bag
 * (not in an index); -0 comes back as 0.
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

/** The properties of an entity, without its id. A property that is undefined is the same as one that is absent. */
export type Bag = { [name: string]: PropertyValue | undefined }

/** Objects and arrays may be nested this deep. */
export const MAX_DEPTH = 64

/**
 * The most values of a bag: its properties, and every property and element within them; an array or
 * object counts as one, beside what is in it. A value takes as little as a byte
 * of a body, and far more in memory, so a limit of bytes alone would let a small compressed body take a process down.
 * The worst bodies of this many values (named empty byte arrays) take 30 MB to keep, 70 MB to read and 0.1 to 0.2 s.
 */
export const MAX_VALUES = 100_000
