import type { QueryPorts, ReadEntity, RowPlace, TakeGroup } from '@looseleaf/index-engine/internal'
import type { RowWithVersion } from '../../calls/index-lanes.ts'
import type { EntityReader } from '../entities/entity-reader.ts'

/** A `RowWithVersion`, or the place where a page begins. */
export type VersionedPlace = RowPlace & Pick<RowWithVersion, 'entityVersion'>

/** True if no version has to be read by id. */
export function knowsVersions(rows: readonly VersionedPlace[]): boolean {
  return rows.every(({ entityVersion }) => entityVersion !== undefined)
}

/**
 * Returns the committed versions of the entities of rows, in the order of the rows; reads those that did not come with their rows. A row
 * has the version of the attempt that wrote it. If the entity has the same version, that attempt was committed, and so is the content of
 * the row (see `diffRows`).
 */
export async function committedVersions(
  readVersions: EntityReader['versions'],
  rows: readonly VersionedPlace[],
  signal: AbortSignal | undefined,
): Promise<readonly (number | undefined)[]> {
  const versions = rows.map(({ entityVersion }) => entityVersion ?? undefined)
  const others = [...rows.keys()].filter((place) => rows[place]!.entityVersion === undefined)
  if (others.length === 0) return versions
  const ids = others.map((place) => rows[place]!.entityId)
  const found = await readVersions(ids, { signal })
  for (const [i, place] of others.entries()) versions[place] = found[i]
  return versions
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
