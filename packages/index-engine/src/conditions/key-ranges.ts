import { compareKeys, type Direction, type Key, type KeyRange } from '@looseleaf/core/internal'

/**
 * Returns the position of the range whose prefix a key begins with; -1 if there is none. The ranges are in the order of the index, and
 * their prefixes have the same length.
 */
export function rangeOf(
  ranges: readonly Pick<KeyRange, 'prefix'>[],
  key: Key,
  directions: readonly Direction[],
): number {
  let [low, high] = [0, ranges.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const { prefix } = ranges[middle] as KeyRange
    const order = compareKeys(prefix, key.slice(0, prefix.length), directions)
    if (order === 0) return middle
    if (order < 0) low = middle + 1
    else high = middle
  }
  return -1
}
