/** Parses the JSON text of an object or array; undefined for any other text. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    return toObject(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** Returns a parsed value that is an object or array; undefined for any other value. */
export function toObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
}

/** Returns the count under a name in such an object; 0 unless it is a whole number of 0 or more. */
export function countIn(value: Record<string, unknown>, name: string): number {
  const count = value[name]
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : 0
}

/** Returns the counts under these names. */
export function countsIn<Name extends string>(
  value: Record<string, unknown>,
  names: readonly Name[],
): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, countIn(value, name)])) as Record<Name, number>
}

/** Returns the string under a name in such an object; empty if there is none. */
export function textIn(value: Readonly<Record<string, unknown>>, name: string): string {
  const text = value[name]
  return typeof text === 'string' ? text : ''
}
