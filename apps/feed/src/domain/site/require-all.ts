import type { Fate } from 'looseleaf'

/** Throws the first error of many writes that is not one of the expected ones. */
export function requireAll(fates: readonly Fate<unknown>[], isExpected: (error: unknown) => boolean): void {
  for (const fate of fates) if (!fate.ok && !isExpected(fate.error)) throw fate.error
}
