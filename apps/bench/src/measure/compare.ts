import { crc32 } from 'node:zlib'
import { createRandom, type Random } from '@looseleaf-tooling/random'
import type { SideName } from '../sides/side-names.ts'
import { scenarioOf } from '../workload/scenarios.ts'
import type { Cell, Sample } from './sample.ts'

/**
 * Shares of a round's seconds that do not count: of each side before the first round, until V8 has compiled what runs all the time, and at the
 * beginning of each turn, after the others' turns.
 */
const WARM_UP_SHARE = 3
/** Where turns are shorter than these seconds, nobody is to believe them, and it should not take long. */
const BELIEVED = 0.2
const QUICK_WARM_UP_SHARE = 0.5
const RUN_IN_SHARE = 0.3
/**
 * Longer than Looseleaf keeps rows that a put made superfluous, which is 300 ms here. So a turn deletes as many as it leaves: those of its
 * run-in fall into it, and those of its end do not.
 */
const LATE_RUN_IN_SECONDS = 0.4

/**
 * Measures sides in turns, so that whatever else the machine does hits all alike, and takes ratios only within a round. Each round has an
 * order of its own: a side that always followed the same other one would pay for what that leaves behind.
 */
export async function compare(
  sides: readonly SideName[],
  cell: Cell,
  rounds: number,
  measure: (side: SideName, cell: Cell) => Promise<Sample>,
): Promise<Map<SideName, Sample[]>> {
  const warmUp = cell.seconds * (cell.seconds < BELIEVED ? QUICK_WARM_UP_SHARE : WARM_UP_SHARE)
  for (const side of sides) await measure(side, { ...cell, seconds: warmUp })
  const runIn = Math.max(
    cell.seconds * RUN_IN_SHARE,
    scenarioOf(cell.scenario).isLate === true ? LATE_RUN_IN_SECONDS : 0,
  )
  const samples = new Map<SideName, Sample[]>(sides.map((side) => [side, []]))
  // Of its own for each scenario, or a side that follows the same one by chance would do so in all of them.
  const random = createRandom(crc32(`${cell.scenario} ${cell.callers} ${cell.rate}`))
  for (let round = 0; round < rounds; round++) {
    for (const side of shuffled(sides, random)) {
      samples.get(side)?.push(await measure(side, { ...cell, runIn }))
    }
  }
  return samples
}

function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  return items
    .map((item) => ({ item, place: random.below(2 ** 30) }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item)
}
