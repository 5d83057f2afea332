import { createHash } from 'node:crypto'

/** Returns a number from 0 to 1 that looks random and depends on the text alone. */
export function fractionOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32
}

/** Returns the items in an order that looks random and depends on their names alone. */
export function shuffled<Item>(items: readonly Item[], nameOf: (item: Item) => string): Item[] {
  return items
    .map((item) => ({ item, place: fractionOf(nameOf(item)) }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item)
}
