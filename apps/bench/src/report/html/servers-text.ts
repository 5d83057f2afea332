/**
 * Servers of several parts in a line: those that differ only in how many there are stand together, such as
 * `1, 2 and 4 MariaDB servers and a PostgreSQL server`.
 */
export function serversText(titles: readonly string[]): string {
  const counts = new Map<string, Set<number>>()
  for (const title of titles) {
    const [, count, what] = /^(\d+) (.+ (?:server|file))s?$/.exec(title) ?? []
    const key = what ?? title
    const own = counts.get(key) ?? new Set<number>()
    if (count !== undefined) own.add(Number(count))
    counts.set(key, own)
  }
  return listed(
    [...counts].map(([what, own]) => {
      if (own.size === 0) return what
      const numbers = [...own].toSorted((a, b) => a - b)
      return `${listed(numbers.map(String))} ${what}${numbers.at(-1) === 1 ? '' : 's'}`
    }),
  )
}

/** `a`, `a and b`, `a, b and c`. */
function listed(items: readonly string[]): string {
  const last = items.at(-1) ?? ''
  return items.length < 2 ? last : `${items.slice(0, -1).join(', ')} and ${last}`
}
