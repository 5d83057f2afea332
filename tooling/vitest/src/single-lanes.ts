import type { Plugin } from 'vitest/config'

/** LOOSELEAF_SINGLE_LANES=1: every statement carries one item. */
export const hasSingleLanes: boolean = process.env['LOOSELEAF_SINGLE_LANES'] === '1'

/**
 * Makes every lane carry one item a statement, by changing what the tests load of `packages/core/src/tools/lane.ts`; the store has no
 * such setting, since nobody would want it. Processes that a test starts load the file itself, so they gather as ever.
 */
export function singleLanes(): Plugin {
  return {
    name: 'looseleaf-single-lanes',
    enforce: 'pre',
    transform(code, id) {
      if (!id.endsWith('/packages/core/src/tools/lane.ts')) return undefined
      const changed = code.replace(
        'maxBatch, workFor } = options',
        'workFor } = options\n  const maxBatch = 1',
      )
      if (changed === code)
        throw new Error(`${id} does not read maxBatch as expected, so its lanes gather as ever.`)
      return changed
    },
  }
}
