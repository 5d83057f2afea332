/** Cuts a list into parts of this length; the last one may be shorter. */
export function* chunks<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size)
}

/** Cuts a list into parts of at most this size, or of one item, and of at most so many items. */
export function* chunksBySize<Item>(
  items: readonly Item[],
  sizeOf: (item: Item) => number,
  maxSize: number,
  maxItems: number = Infinity,
): Generator<readonly Item[]> {
  let start = 0
  let size = 0
  for (let i = 0; i < items.length; i++) {
    const added = sizeOf(items[i]!)
    if (i > start && (size + added > maxSize || i - start === maxItems)) {
      yield items.slice(start, i)
      start = i
      size = 0
    }
    size += added
  }
  if (start < items.length) yield items.slice(start)
}
