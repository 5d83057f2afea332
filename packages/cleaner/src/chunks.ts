/** Index rows of one statement that writes or deletes them. */
export const ROWS_PER_WRITE = 500

/** The items in runs of at most `size`. */
export function* chunks<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size)
}
