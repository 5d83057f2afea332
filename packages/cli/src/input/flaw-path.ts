/**
 * Returns the path to the innermost part of a JSON value that is flawed by itself. Empty if each part is fine, as when the value is nested too
 * deeply.
 */
export function flawPath(json: unknown, isFine: (part: unknown) => boolean): readonly (string | number)[] {
  if (typeof json !== 'object' || json === null) return []
  for (const [name, part] of Object.entries(json)) {
    if (isFine(part)) continue
    return [Array.isArray(json) ? Number(name) : name, ...flawPath(part, isFine)]
  }
  return []
}
