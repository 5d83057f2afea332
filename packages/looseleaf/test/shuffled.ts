/** The same items in a random order. */
export function shuffled<Item>(items: readonly Item[]): Item[] {
  const left = [...items]
  for (let end = left.length - 1; end > 0; end--) {
    const at = Math.floor(Math.random() * (end + 1))
    ;[left[at], left[end]] = [left[end]!, left[at]!]
  }
  return left
}
