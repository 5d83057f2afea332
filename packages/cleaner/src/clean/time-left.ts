import { phases, type Part, type Phase } from './part.ts'

/** Rows still to be read on a shard; undefined while unknown. */
export type RowsLeft = number | undefined

/**
 * Estimates the rows still to be read for indexes that are cleaned together on one shard, over all remaining phases. Entities are read once
 * for all indexes, rows for each index: with the table, and with their entities, unless these are only filled. The size of a later phase is
 * guessed from the phases before it.
 */
export function rowsLeft(parts: readonly Part[], planned: readonly Phase[]): RowsLeft {
  const remaining = parts.map((part) => remainingOf(part, planned))
  if (remaining.length === 0 || remaining.some((rows) => rows === undefined)) return undefined
  const known = remaining as readonly Remaining[]
  const most = (phase: Phase): number => Math.max(...known.map((rows) => rows[phase]))
  return (
    most('entities') +
    most('check') +
    known.reduce((sum, { dangling, lookUps }) => sum + dangling + lookUps, 0)
  )
}

/** Rows still to be read of one part: entities in the phases over entities, and index rows in the phase `dangling` and with entities. */
type Remaining = Readonly<Record<Phase | 'lookUps', number>>

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

function remainingOf(part: Part, planned: readonly Phase[]): Remaining | undefined {
  const { phase, seen, total, tally } = part
  if (phase === 'done') return { entities: 0, dangling: 0, check: 0, lookUps: 0 }
  const inPhase = Math.max(0, total - seen)
  const checked = (rows: number): number => (planned.includes('check') ? rows : 0)
  if (phase === 'entities') {
    if (total === 0) return undefined
    // The rows written or looked up so far are extrapolated to all entities.
    const perEntity = seen === 0 ? 1 : Math.max(tally.added, tally.rows) / seen
    const rows = total * perEntity
    const lookUps = seen === 0 ? 0 : (inPhase * tally.rows) / seen
    return { entities: inPhase, dangling: rows, check: checked(total), lookUps: lookUps + checked(rows) }
  }
  if (phase === 'dangling') {
    const rows = total === 0 ? Math.max(tally.added, tally.rows) : total
    const dangling = total === 0 ? rows : inPhase
    return { entities: 0, dangling, check: checked(tally.entities), lookUps: checked(rows) }
  }
  const check = total === 0 ? tally.entities : inPhase
  // A repair has read each row twice by now: with its entity, and with its table.
  const perEntity = Math.max(tally.added, tally.rows / 2) / Math.max(1, tally.entities)
  return { entities: 0, dangling: 0, check, lookUps: check * perEntity }
}
