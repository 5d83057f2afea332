/** An array of so many places, all to be filled: one that grows by `push` takes room for 17 with its first value. */
export function arrayOf<T>(length: number): T[] {
  // oxlint-disable-next-line unicorn/no-new-array -- `Array.from` walks through all of it, and is several times slower
  return new Array<T>(length)
}
