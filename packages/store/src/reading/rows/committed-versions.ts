import type { QueryPorts, ReadEntity, RowPlace, TakeGroup } from '@looseleaf/index-engine/internal'
import type { EntityReader } from '../entities/entity-reader.ts'

/**
 * Reads the committed versions of the entities of rows, in the order of the rows. A row has the version of the attempt that wrote it. If
 * the entity has the same version, that attempt was committed, and so is the content of the row (see `diffRows`).
 */
export function committedVersions(
  reader: Pick<EntityReader, 'versions'>,
  rows: readonly RowPlace[],
  signal: AbortSignal | undefined,
): Promise<readonly (number | undefined)[]> {
  return reader.versions(
    rows.map(({ entityId }) => entityId),
    { signal },
  )
}

/**
 * Hands over the entities of rows in the order of the rows: those known from their rows, and the others from `readOthers`. Returns true
 * if `take` wants more. Empties `known`.
 */
export async function takeInRowOrder<Row extends RowPlace>(
  rows: readonly Row[],
  known: (ReadEntity | undefined)[],
  readOthers: QueryPorts['read'],
  signal: AbortSignal | undefined,
  take: TakeGroup,
): Promise<boolean> {
  const others = [...known.keys()].filter((place) => known[place] === undefined)
  if (others.length === 0) return take(known)
  let from = 0
  let isWanted = true
  /** Hands over the entities before this place, and frees their memory. */
  const handOver = (to: number): boolean => {
    if (to === from) return true
    const group = known.slice(from, to)
    known.fill(undefined, from, to)
    from = to
    return (isWanted = take(group))
  }
  if (!handOver(others[0]!)) return false
  let at = 0
  await readOthers(
    others.map((place) => rows[place]!),
    signal,
    (group) => {
      for (const entity of group) known[others[at++]!] = entity
      return handOver(others[at] ?? rows.length)
    },
  )
  return isWanted
}
