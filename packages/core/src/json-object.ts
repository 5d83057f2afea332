/** The object of a text of JSON; undefined for any other text. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    return toObject(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** An object of parsed JSON; undefined for any other value. */
export function toObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
}

/** A count in such an object; 0 for what is none. */
export function countIn(value: Record<string, unknown>, name: string): number {
  const count = value[name]
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : 0
}
