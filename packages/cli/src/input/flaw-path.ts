import { MAX_DEPTH } from '@looseleaf/core/internal'

/**
 * Returns the path to the innermost part of a JSON value that is flawed by itself. Empty if each part is fine, or if the value is nested too
 * deeply for a bag: `isFine` is called with parts of limited depth only.
 */
export function flawPath(json: unknown, isFine: (part: unknown) => boolean): readonly (string | number)[] {
  return isTooDeep(json, MAX_DEPTH) ? [] : pathIn(json, isFine)
}

function pathIn(json: unknown, isFine: (part: unknown) => boolean): readonly (string | number)[] {
  if (typeof json !== 'object' || json === null) return []
  for (const [name, part] of Object.entries(json)) {
    if (isFine(part)) continue
    return [Array.isArray(json) ? Number(name) : name, ...pathIn(part, isFine)]
  }
  return []
}

function isTooDeep(json: unknown, levels: number): boolean {
  if (typeof json !== 'object' || json === null) return false
  return levels === 0 || Object.values(json).some((part) => isTooDeep(part, levels - 1))
}
