import type { Driver } from '@looseleaf/core'
import { lookAtMarks, wentBackOf, wentBackText } from '@looseleaf/protocol/internal'

/**
 * Warns of each shard that has gone back, until its indexes were swept: queries may lack entities and still say that they are complete. Skips
 * the shards in `silent`, which did not answer.
 */
export async function wentBackWarnings(
  { shards }: Driver,
  silent: ReadonlyMap<number, unknown>,
): Promise<readonly string[]> {
  const answering = shards.map((shard, number) => (silent.has(number) ? undefined : shard))
  const looks = await lookAtMarks(answering)
  return looks.flatMap((look) => {
    const wentBack = wentBackOf(look, 0)
    if (wentBack === undefined || wentBack.isSwept) return []
    const { name } = shards[look.shard]!
    return `Shard ${name} ${wentBackText(wentBack)}. Queries may lack entities, although they say that they are complete, until all indexes were swept: run \`looseleaf clean --restart\`. Empty caches that processes share, and begin consumers anew.`
  })
}
