import type { Plugin } from 'vitest/config'

/** LOOSELEAF_SINGLE_LANES=1: every statement carries one item. */
export const hasSingleLanes: boolean = process.env['LOOSELEAF_SINGLE_LANES'] === '1'

/**
 * Makes every lane carry one item per statement, by replacing a part of `packages/core/src/tools/lane.ts` when
 * tests load it. The store has no such option, because it would have no user. Child processes load the file
 * itself, so their lanes gather as usual.
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
