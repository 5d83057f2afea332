import { isDeepStrictEqual } from 'node:util'

/*
 * What a newer version of a program has stored beside what this one knows stays when this one updates. Three things are held
 * against each other: what is `stored`, what the program was `shown` of it, and what it made of that.
 */

type Properties = { readonly [name: string]: unknown }

/**
 * What a program has `changed`, with all that it was not shown. A value that is undefined removes a property; of what is shown
 * and not mentioned at the top, nothing changes.
 */
export function applyPatch(stored: Properties, shown: Properties, patch: Properties): Properties {
  const result: Record<string, unknown> = { ...stored }
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined) delete result[name]
    else result[name] = carried(stored[name], shown[name], value)
  }
  return result
}

/** A new value, with what was stored within the old one and not shown. */
function carried(stored: unknown, shown: unknown, value: unknown): unknown {
  if (stored === shown) return value
  if (isPlain(stored) && isPlain(shown) && isPlain(value)) {
    const result: Record<string, unknown> = {}
    for (const name of Object.keys(stored)) if (!(name in shown)) result[name] = stored[name]
    for (const name of Object.keys(value)) result[name] = carried(stored[name], shown[name], value[name])
    return result
  }
  if (Array.isArray(stored) && Array.isArray(shown) && Array.isArray(value)) {
    // An element that is as it was shown is that one, wherever it stands now; another is the one that was in its place, if that is gone.
    const from = value.map((item: unknown) => shown.findIndex((other) => isDeepStrictEqual(other, item)))
    return value.map((item: unknown, i) => {
      const place = from[i] !== -1 ? from[i]! : from.includes(i) ? -1 : i
      return carried(stored[place], shown[place], item)
    })
  }
  return value
}

/** What a schema has made of `full`, with those stored properties that it has left out because it does not know them. */
export function withUnknown(stored: unknown, full: unknown, made: unknown): unknown {
  if (isPlain(full) && isPlain(made)) {
    const before = isPlain(stored) ? stored : {}
    const result: Record<string, unknown> = { ...made }
    for (const name of Object.keys(full)) {
      if (name in made) result[name] = withUnknown(before[name], full[name], made[name])
      else if (name in before) result[name] = full[name]
    }
    return result
  }
  if (Array.isArray(full) && Array.isArray(made) && full.length === made.length) {
    // Elements may have moved, so what any of them had may be in each.
    const before: Properties = Array.isArray(stored) ? Object.assign({}, ...stored.filter(isPlain)) : {}
    return made.map((item: unknown, i) => withUnknown(before, full[i], item))
  }
  return made
}

function isPlain(value: unknown): value is Properties {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
