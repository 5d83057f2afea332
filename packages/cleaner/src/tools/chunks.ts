/** Index rows of one statement that writes or deletes them. */
export const ROWS_PER_WRITE = 500

/** Ids of one look-up of index rows: what a few entities have is in hand at once. */
export const IDS_PER_LOOKUP = 512

/** Index rows of entities in hand at once, about; of one entity there may be more. What they take holds up others in the process. */
export const ROWS_IN_HAND = 5_000

/** The items in chunks of at most `size`. */
export function* chunks<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size)
}
