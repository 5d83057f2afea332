/** Joins the servers of several parts to one text, such as `1, 2 and 4 MariaDB servers and a PostgreSQL server`. */
export function serversText(titles: readonly string[]): string {
  const counts = new Map<string, Set<number>>()
  for (const title of titles) {
    const [, count, noun] = /^(\d+) (.+ (?:server|file))s?$/.exec(title) ?? []
    const key = noun ?? title
    const found = counts.get(key) ?? new Set<number>()
    if (count !== undefined) found.add(Number(count))
    counts.set(key, found)
  }
  return listed(
    [...counts].map(([noun, found]) => {
      if (found.size === 0) return noun
      const numbers = [...found].toSorted((a, b) => a - b)
      return `${listed(numbers.map(String))} ${noun}${numbers.at(-1) === 1 ? '' : 's'}`
    }),
  )
}

/** `a`, `a and b`, `a, b and c`. */
function listed(items: readonly string[]): string {
  const last = items.at(-1) ?? ''
  return items.length < 2 ? last : `${items.slice(0, -1).join(', ')} and ${last}`
}
