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
