import { describe, expect, it } from 'vitest'
import { flaws } from './flawed-driver.ts'
import { simulate } from './simulate.ts'

const SEEDS = Number(process.env['LOOSELEAF_SIM_SEEDS'] ?? 2000)
/** A flaw that so many lives do not show is one that the simulation does not see. */
const FLAW_SEEDS = 3000

describe('the simulation', () => {
  it(`holds for ${SEEDS} seeds`, { timeout: 600_000 }, async () => {
    const totals = { acknowledged: 0, unknown: 0, crashes: 0, queries: 0 }
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { violation, counts, crashes } = await simulate(seed)
      expect(violation, `seed ${seed}; every step: pnpm sim --seed ${seed}`).toBeUndefined()
      totals.acknowledged += counts.acknowledged
      totals.unknown += counts.unknown
      totals.queries += counts.queries
      totals.crashes += crashes
    }
    // A world in which nothing goes wrong, or nothing gets done, would prove nothing.
    expect(Math.min(...Object.values(totals))).toBeGreaterThan(0)
  })

  it('goes the same way for the same seed', async () => {
    for (const seed of [1, 7, 42]) {
      const [first, second] = [await simulate(seed), await simulate(seed)]
      expect(second.log).toEqual(first.log)
    }
  })

  it.each(flaws)('finds the flaw: %s', { timeout: 600_000 }, async (flaw) => {
    let found: string | undefined
    for (let seed = 1; seed <= FLAW_SEEDS && found === undefined; seed++) {
      found = (await simulate(seed, flaw)).violation
    }
    expect(found).toMatch(
      /missing|never matched|lacks|took place|never committed|older version|earlier version/,
    )
  })
})
