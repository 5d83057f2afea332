/** Creates an array to be filled to this length. An array that grows by `push` allocates room for 17 with its first value. */
export function arrayOf<T>(length: number): T[] {
  // oxlint-disable-next-line unicorn/no-new-array -- `Array.from` visits every element, several times slower
  return new Array<T>(length)
}
