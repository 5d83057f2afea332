import type { SideName } from '../sides/side-names.ts'
import type { Cell, Sample } from './sample.ts'

/** A share of a round's seconds, for each side, before anything counts. */
const WARM_UP_SHARE = 0.5

/**
 * Measures sides in turns, so that whatever else the machine does hits all alike. Who goes first moves on from round to round, and
 * ratios are only taken within a round.
 */
export async function compare(
  sides: readonly SideName[],
  cell: Cell,
  rounds: number,
  measure: (side: SideName, cell: Cell) => Promise<Sample>,
): Promise<Map<SideName, Sample[]>> {
  for (const side of sides) await measure(side, { ...cell, seconds: cell.seconds * WARM_UP_SHARE })
  const samples = new Map<SideName, Sample[]>(sides.map((side) => [side, []]))
  for (let round = 0; round < rounds; round++) {
    const first = round % sides.length
    for (const side of [...sides.slice(first), ...sides.slice(0, first)])
      samples.get(side)?.push(await measure(side, cell))
  }
  return samples
}
