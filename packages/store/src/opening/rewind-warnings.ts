import { presentEntries, type StoreDriver } from '@looseleaf/index-engine/internal'
import { lookAtMarks, rewindOf, rewindText } from '@looseleaf/protocol/internal'

/**
 * Warns of each shard that has gone back, until its indexes were swept: queries may lack entities and still say that they are complete. Skips
 * the shards in `silent`, which did not answer.
 */
export async function rewindWarnings(
  driver: StoreDriver,
  silent: ReadonlyMap<number, unknown>,
): Promise<readonly string[]> {
  const answering = presentEntries(driver).map(
    ([number, shard]) => [number, silent.has(number) ? undefined : shard] as const,
  )
  const looks = await lookAtMarks(answering)
  return looks.flatMap((look) => {
    const wentBack = rewindOf(look, 0)
    if (wentBack === undefined || wentBack.isSwept) return []
    const { name } = driver.shards[look.shard]!
    return `Shard ${name} ${rewindText(wentBack)}. Queries may lack entities, although they say that they are complete, until all indexes were swept: run \`looseleaf clean --restart\`. Empty caches that processes share, and begin consumers anew.`
  })
}
