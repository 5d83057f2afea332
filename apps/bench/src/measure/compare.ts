import { crc32 } from 'node:zlib'
import { createRandom, type Random } from '@looseleaf-tooling/kit/random'
import type { Scale } from '../scale.ts'
import type { SideName } from '../sides/side-names.ts'
import { scenarioOf } from '../workload/scenarios.ts'
import type { Cell, Sample } from './sample.ts'

/** Run-in of each turn as a share of its seconds. Calls of the run-in do not count. */
const RUN_IN_SHARE = 0.3
/**
 * Run-in of scenarios whose index rows are deleted later. Looseleaf keeps lost rows for about 275 ms here (see `QUERY_TIME_MS`), and this is
 * longer. So each turn pays for as many deletes as it causes: it deletes the rows of its run-in, and leaves those of its end.
 */
const LATE_RUN_IN_SECONDS = 0.4

/**
 * Measures sides in turns, so that other load of the machine hits all sides alike. Returns a sample per side and round. Each round has
 * a random order: a side that always followed the same one would pay for the work that this one leaves behind.
 */
export async function compare(
  sides: readonly SideName[],
  cell: Cell,
  { rounds, warmUpShare }: Pick<Scale, 'rounds' | 'warmUpShare'>,
  measure: (side: SideName, cell: Cell) => Promise<Sample>,
): Promise<Map<SideName, Sample[]>> {
  for (const side of sides) await measure(side, { ...cell, seconds: cell.seconds * warmUpShare })
  const runIn = Math.max(
    cell.seconds * RUN_IN_SHARE,
    scenarioOf(cell.scenario).isLate === true ? LATE_RUN_IN_SECONDS : 0,
  )
  const samples = new Map<SideName, Sample[]>(sides.map((side) => [side, []]))
  // The seed depends on the scenario. With one seed for all, a side that follows another by chance would do so in every scenario.
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
