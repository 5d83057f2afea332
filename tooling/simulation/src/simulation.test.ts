import { availableParallelism } from 'node:os'
import { isLong, someOf } from '@looseleaf-tooling/vitest/long'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkNames } from './checks.ts'
import { faultKinds } from './faults/faults.ts'
import { flawInfo, flawNames } from './faults/flaws.ts'
import { runSeeds } from './run/run-seeds.ts'
import { startSeedProcesses, type Job } from './run/seed-processes.ts'
import { simulate } from './run/simulate.ts'
import type { SimulationOptions } from './run/simulation.ts'
import { addTotals, noTotals, type SimulationTotals } from './run/totals.ts'

const isWhole = isLong || process.env['LOOSELEAF_SIM_SEEDS'] !== undefined
/** The seeds of a short run: few lives in which each fault, operation and check occurs, most of them twice, since any change moves the steps of lives. */
const SHORT = [25, 27, 36, 43, 89, 95, 97, 99, 101, 102, 105, 117, 121, 124, 147, 149]
const SEEDS = isWhole ? upTo(Number(process.env['LOOSELEAF_SIM_SEEDS'] ?? 154)) : SHORT
/** Lives in which buckets move, beside the fifth of the others. */
const MOVE_SEEDS = isWhole ? upTo(300) : [11, 29, 41]
/** If this many lives do not show a flaw, the simulation misses it. */
const FLAW_SEEDS = 4000
/** Lives in which a flaw must stay hidden without the fault that shows it. */
const HIDDEN_SEEDS = isLong ? 12 : 6

const timeout = 900_000

const by = startSeedProcesses(availableParallelism())
afterAll(() => by.stop())

function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, n) => n + 1)
}

/** Runs a life of each seed, and adds up the results. */
async function live(seeds: readonly number[], options: SimulationOptions = {}): Promise<SimulationTotals> {
  const totals = noTotals()
  const jobs = seeds.map((from): Job => ({ from, seeds: 1, options })).values()
  await Promise.all(
    by.all.map(async (seedProcess) => {
      for (const job of jobs) addTotals(totals, await seedProcess.run(job))
    }),
  )
  return totals
}

describe(`${SEEDS.length} lives, and ${MOVE_SEEDS.length} with moves`, () => {
  let totals: SimulationTotals

  beforeAll(async () => {
    totals = await live(SEEDS)
    addTotals(totals, await live(MOVE_SEEDS, { parts: ['moves'] }))
  }, timeout)

  it('every kind of fault and of operation occurs', () => {
    const { faults, lives, moves, acknowledged, unknown, reads, queries } = totals
    // A world without faults or without work proves nothing.
    const all = { ...faults, ...lives, ...moves, acknowledged, unknown, reads, queries }
    expect(Object.entries(all).filter(([, count]) => count === 0)).toEqual([])
    expect(totals.seeds).toBe(SEEDS.length + MOVE_SEEDS.length)
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
    const life = { from: 500, seeds: 6, flaw: 'epoch is ignored' } as const
    // Processes that have lives behind them, because a new one starts slowly.
    const [first] = by.all
    const one = await runSeeds({ ...life, by: { all: [first!], stop() {} } })
    expect(await runSeeds({ ...life, by })).toEqual(one)
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
