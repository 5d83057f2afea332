import { phases, type Part, type Phase } from './part.ts'

/** Rows still to be read on a shard; undefined while unknown. */
export type RowsLeft = number | undefined

/**
 * Estimates the rows still to be read for indexes that are cleaned together on one shard, over all remaining phases. Entities are read once
 * for all indexes, rows for each index. The size of a later phase is guessed from the phases before it.
 */
export function rowsLeft(parts: readonly Part[], planned: readonly Phase[]): RowsLeft {
  const remaining = parts.map((part) => remainingOf(part, planned))
  if (remaining.length === 0 || remaining.some((rows) => rows === undefined)) return undefined
  const known = remaining as readonly Readonly<Record<Phase, number>>[]
  const most = (phase: Phase): number => Math.max(...known.map((rows) => rows[phase]))
  return most('entities') + most('check') + known.reduce((sum, { dangling }) => sum + dangling, 0)
}

/** Estimates the rows still to be read on all shards. An unknown shard counts as the average of the others. */
export function rowsLeftOnAll(shards: readonly RowsLeft[]): RowsLeft {
  const known = shards.filter((rows) => rows !== undefined)
  if (known.length === 0) return undefined
  const sum = known.reduce((total, rows) => total + rows, 0)
  return sum + (sum / known.length) * (shards.length - known.length)
}

/** Estimates the milliseconds that these rows take at this rate. Returns undefined without data. */
export function timeLeftMs(rows: RowsLeft, rowsPerSecond: number): number | undefined {
  if (rows === undefined || rowsPerSecond <= 0) return undefined
  return Math.round((rows / rowsPerSecond) * 1000)
}

export function phasesAfter(phase: Phase, planned: readonly Phase[]): readonly Phase[] {
  return planned.filter((other) => phases.indexOf(other) > phases.indexOf(phase))
}

function remainingOf(part: Part, planned: readonly Phase[]): Readonly<Record<Phase, number>> | undefined {
  const { phase, seen, total, tally } = part
  if (phase === 'done') return { entities: 0, dangling: 0, check: 0 }
  const inPhase = Math.max(0, total - seen)
  const checked = (entities: number): number => (planned.includes('check') ? entities : 0)
  if (phase === 'entities') {
    if (total === 0) return undefined
    // The rows written or looked up so far are extrapolated to all entities.
    const perEntity = seen === 0 ? 1 : Math.max(tally.added, tally.rows) / seen
    return { entities: inPhase, dangling: total * perEntity, check: checked(total) }
  }
  if (phase === 'dangling') {
    const dangling = total === 0 ? Math.max(tally.added, tally.rows) : inPhase
    return { entities: 0, dangling, check: checked(tally.entities) }
  }
  return { entities: 0, dangling: 0, check: total === 0 ? tally.entities : inPhase }
}
