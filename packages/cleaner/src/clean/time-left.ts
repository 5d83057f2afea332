import { phases, type Part, type Phase } from './part.ts'

/** How much there is to be read on a shard yet, in rows; undefined where that is not known so far. */
export type RowsLeft = number | undefined

/**
 * What is left of some indexes that are cleaned together on one shard, over the phases to come. Entities are read once for
 * all of them, rows of each. How many rows a phase to come will meet is a guess from those before it.
 */
export function rowsLeft(parts: readonly Part[], planned: readonly Phase[]): RowsLeft {
  const left = parts.map((part) => leftOf(part, planned))
  if (left.length === 0 || left.some((each) => each === undefined)) return undefined
  const known = left as readonly Readonly<Record<Phase, number>>[]
  const most = (phase: Phase): number => Math.max(...known.map((each) => each[phase]))
  return most('entities') + most('check') + known.reduce((sum, { dangling }) => sum + dangling, 0)
}

/** The same over all shards: of those that nothing is known of, as much is taken to be left as of the others. */
export function rowsLeftOnAll(shards: readonly RowsLeft[]): RowsLeft {
  const known = shards.filter((each) => each !== undefined)
  if (known.length === 0) return undefined
  const sum = known.reduce((total, each) => total + each, 0)
  return sum + (sum / known.length) * (shards.length - known.length)
}

/** Milliseconds, as an estimate: undefined while there is nothing to go by. */
export function timeLeftMs(left: RowsLeft, rowsPerSecond: number): number | undefined {
  if (left === undefined || rowsPerSecond <= 0) return undefined
  return Math.round((left / rowsPerSecond) * 1000)
}

/** The phases of a job that come after this one. */
export function phasesAfter(phase: Phase, planned: readonly Phase[]): readonly Phase[] {
  return planned.filter((each) => phases.indexOf(each) > phases.indexOf(phase))
}

function leftOf(part: Part, planned: readonly Phase[]): Readonly<Record<Phase, number>> | undefined {
  const { phase, seen, total, tally } = part
  if (phase === 'done') return { entities: 0, dangling: 0, check: 0 }
  const now = Math.max(0, total - seen)
  const checked = (entities: number): number => (planned.includes('check') ? entities : 0)
  if (phase === 'entities') {
    if (total === 0) return undefined
    // Rows that were written or looked up so far, for all entities that there are.
    const perEntity = seen === 0 ? 1 : Math.max(tally.added, tally.rows) / seen
    return { entities: now, dangling: total * perEntity, check: checked(total) }
  }
  if (phase === 'dangling') {
    const dangling = total === 0 ? Math.max(tally.added, tally.rows) : now
    return { entities: 0, dangling, check: checked(tally.entities) }
  }
  return { entities: 0, dangling: 0, check: total === 0 ? tally.entities : now }
}
