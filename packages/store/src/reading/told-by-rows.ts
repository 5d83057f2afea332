import { type QueryPorts, type ReadEntity, type RowPlace, type TakeGroup } from '@looseleaf/index-engine'
import type { EngineContext } from '@looseleaf/index-engine'
import type { ShardLanes } from '../calls/shard-lanes.ts'

/**
 * The committed versions of the entities of rows, in the order of the rows. A row was written by the attempt whose version it has, so where its
 * entity has that version the row tells what was committed (see `diffRows`).
 */
export async function committedVersions(
  { router }: Pick<EngineContext, 'router'>,
  lanes: (shard: number) => ShardLanes,
  rows: readonly RowPlace[],
  signal: AbortSignal | undefined,
): Promise<readonly (number | undefined)[]> {
  const versions: (number | undefined)[] = Array.from({ length: rows.length })
  const byShard = Map.groupBy(rows.keys(), (place) => router.shardOfId(rows[place]!.entityId))
  await Promise.all(
    Array.from(byShard, async ([shard, places]) => {
      const ids = places.map((place) => rows[place]!.entityId)
      const found = await lanes(shard).version.submitAll(ids, signal)
      for (let i = 0; i < places.length; i++) versions[places[i]!] = found[i]
    }),
  )
  return versions
}

/**
 * Hands over the entities of rows in their order: what the rows tell of them, and the others as `readOthers` reads them. Answers whether more is
 * wanted. Empties `told`.
 */
export async function takeTold<Row extends RowPlace>(
  rows: readonly Row[],
  told: (ReadEntity | undefined)[],
  readOthers: QueryPorts['read'],
  signal: AbortSignal | undefined,
  take: TakeGroup,
): Promise<boolean> {
  const others = [...told.keys()].filter((place) => told[place] === undefined)
  if (others.length === 0) return take(told)
  let from = 0
  let isWanted = true
  /** Hands over what is known, in the order asked, and keeps none of it. */
  const handOver = (to: number): boolean => {
    if (to === from) return true
    const group = told.slice(from, to)
    told.fill(undefined, from, to)
    from = to
    return (isWanted = take(group))
  }
  if (!handOver(others[0]!)) return false
  let at = 0
  await readOthers(
    others.map((place) => rows[place]!),
    signal,
    (group) => {
      for (const entity of group) told[others[at++]!] = entity
      return handOver(others[at] ?? rows.length)
    },
  )
  return isWanted
}
