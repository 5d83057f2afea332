import { availableParallelism } from 'node:os'
import { isLong, someOf } from '@looseleaf-tooling/vitest/long'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkNames } from './checks.ts'
import { faultKinds } from './faults/faults.ts'
import { flawInfo, flawNames } from './faults/flaws.ts'
import { runSeeds } from './run/run-seeds.ts'
import { startSeedProcesses } from './run/seed-processes.ts'
import { simulate } from './run/simulate.ts'
import { addTotals, type SimulationTotals } from './run/totals.ts'

const isWhole = isLong || process.env['LOOSELEAF_SIM_SEEDS'] !== undefined
/** The lives of a short run, in which each fault, operation and check occurs. */
const SHORT = { from: 95, to: 118 }
const { from: FROM, to: LAST } = isWhole
  ? { from: 1, to: Number(process.env['LOOSELEAF_SIM_SEEDS'] ?? 154) }
  : SHORT
const SEEDS = LAST - FROM + 1
/** Lives in which buckets move, beside the fifth of the others. */
const MOVE_SEEDS = isWhole ? 300 : 8
/** If this many lives do not show a flaw, the simulation misses it. */
const FLAW_SEEDS = 4000
/** Lives in which a flaw must stay hidden without the fault that shows it. */
const HIDDEN_SEEDS = 12

const timeout = 900_000

const by = startSeedProcesses(availableParallelism())
afterAll(() => by.stop())

describe(`${SEEDS} lives, and ${MOVE_SEEDS} with moves`, () => {
  let totals: SimulationTotals

  beforeAll(async () => {
    totals = await runSeeds({ from: FROM, seeds: SEEDS, by })
    addTotals(totals, await runSeeds({ from: 1, seeds: MOVE_SEEDS, parts: ['moves'], by }))
  }, timeout)

  it('every kind of fault and of operation occurs', () => {
    const { faults, lives, moves, acknowledged, unknown, reads, queries } = totals
    // A world without faults or without work proves nothing.
    const all = { ...faults, ...lives, ...moves, acknowledged, unknown, reads, queries }
    expect(Object.entries(all).filter(([, count]) => count === 0)).toEqual([])
    expect(totals.seeds).toBe(SEEDS + MOVE_SEEDS)
  })

  it.each(checkNames)('%s', (name) => {
    const broken = totals.violations.filter(({ check }) => check === name)
    expect(broken, 'see every step of one: pnpm sim --seed …').toEqual([])
    expect(totals.checked[name], 'how often it was checked').toBeGreaterThan(0)
  })
})

describe('the simulation', () => {
  it('a seed gives the same life each time', async () => {
    for (const seed of someOf([1, 7, 42], 1)) {
      const [first, second] = [await simulate(seed), await simulate(seed)]
      expect(second.log).toEqual(first.log)
    }
  })

  it('the totals do not depend on the number of processes', { timeout }, async () => {
    const [one, three] = await Promise.all(
      [1, 3].map((processes) => runSeeds({ from: 500, seeds: 3, processes, flaw: 'epoch is ignored' })),
    )
    expect(three).toEqual(one)
  })

  it.each(someOf(flawNames, 5))('the simulation finds the flaw: %s', { timeout }, async (flaw) => {
    const { from = 1 } = flawInfo(flaw)
    const { violations } = await runSeeds({ from, seeds: FLAW_SEEDS, flaw, stopsAtFirst: true, by })
    expect(violations[0]?.what).toBeDefined()
    expect(violations[0]?.check).not.toBe('no call throws an unexpected error or waits for ever')
  })

  const shown = flawNames.filter((flaw) => flawInfo(flaw).shownBy !== undefined)

  it.each(someOf(shown, 1))(
    'the flaw stays hidden without the fault that shows it: %s',
    { timeout },
    async (flaw) => {
      const { among = faultKinds, shownBy } = flawInfo(flaw)
      const faults = among.filter((kind) => kind !== shownBy)
      const { violations } = await runSeeds({ from: 1, seeds: HIDDEN_SEEDS, flaw, faults, by })
      expect(violations).toEqual([])
    },
  )
})
