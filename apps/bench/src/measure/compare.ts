import { crc32 } from 'node:zlib'
import { createRandom, type Random } from '@looseleaf-tooling/random'
import type { Scale } from '../scale.ts'
import type { SideName } from '../sides/side-names.ts'
import { scenarioOf } from '../workload/scenarios.ts'
import type { Cell, Sample } from './sample.ts'

/** Of a round's seconds, at the beginning of each turn, after the others' turns; what begins then does not count. */
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
  { rounds, warmUpShare }: Pick<Scale, 'rounds' | 'warmUpShare'>,
  measure: (side: SideName, cell: Cell) => Promise<Sample>,
): Promise<Map<SideName, Sample[]>> {
  for (const side of sides) await measure(side, { ...cell, seconds: cell.seconds * warmUpShare })
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
