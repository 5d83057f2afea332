import type { CopyTarget } from './attempt.ts'
import { fenced } from './write-copies.ts'
import { pagesOfPending } from './discard.ts'
import { entitiesIn, targetOf, type MoveWork } from './move-work.ts'

/**
 * Copies the pending rows of these buckets under their seal, and returns how many. Earlier would not do: a commit adds a pending row until the
 * seal. A cleaner may delete one meanwhile; its copy then leads to a look at an entity whose rows are there.
 */
export async function copyPending(work: MoveWork, buckets: string, { epoch }: CopyTarget): Promise<number> {
  const { context, move, signal } = work
  const { pending } = targetOf(work)
  const isIn = entitiesIn(context, buckets)
  let copied = 0
  for await (const page of pagesOfPending(work, move.from)) {
    const some = page.filter(({ entityId }) => isIn(entityId))
    if (some.length === 0) continue
    await fenced(() => pending.add(some, { epoch, signal }))
    copied += some.length
  }
  return copied
}
