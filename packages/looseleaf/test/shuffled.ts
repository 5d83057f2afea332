/** Returns the items in a random order. */
export function shuffled<Item>(items: readonly Item[]): Item[] {
  const shuffledItems = [...items]
  for (let end = shuffledItems.length - 1; end > 0; end--) {
    const at = Math.floor(Math.random() * (end + 1))
    ;[shuffledItems[at], shuffledItems[end]] = [shuffledItems[end]!, shuffledItems[at]!]
  }
  return shuffledItems
}
