import { crc32 } from 'node:zlib'
import {
  throwIfAborted,
  type CopiedRow,
  type EntityChecksum,
  type UpdatedPlace,
} from '@looseleaf/core/internal'
import { placeOf } from '../floor.ts'
import { lastingRows } from '../lasting-page.ts'
import { createThrottle } from '../throttle/throttle.ts'
import { isCopy } from './compare-entities.ts'
import { entitiesIn, sourceOf, targetOf, type MoveWork } from './move-work.ts'
import { batchesOf, copiesOf, fenced, receive, type ChainedTarget, type Copyable } from './write-copies.ts'
import { pagesOfPending } from './discard.ts'

/** Rows of a page. The copy before the seal leaves a few. */
const PAGE = 500
/** Bytes of the longest body that comes with its page. */
const MAX_BODY = 16 * 1024

/** Result of the last copy of a group. */
export interface LastCopy {
  readonly copied: number
  /** Number of copies that are not as they were sent. Must be 0. */
  readonly different: number
  /** Greatest time of writing of the copied rows, in microseconds since 1970; 0 if there are none. */
  readonly lastUpdated: number
}

/**
 * Copies the rest of a sealed group to the target, with its pending rows, and compares the copies with what was sent. Call it under the
 * seal, whose writes wait, so it sends few statements: usually one page of the source and one of its pending rows, at the same time.
 *
 * The range has no end: a write may begin after the seal and take its time before it waits for the lock, so its time may be above
 * every floor that was raised before.
 *
 * A flushed commit follows a page with rows of the group, before their copies are sent: a crash could undo these rows, and their
 * copies would stay. A page without such rows needs none, because the change that gives the group up is behind everything that the page
 * has shown: 1. An entity of the group is replaced, and the replacement is not on disk. 2. The page has the replacement, or a copy before
 * the seal has it. 3. A crash that undoes the replacement undoes the seal as well, so the group is not given up.
 */
export async function copyLast(
  work: MoveWork,
  after: UpdatedPlace,
  group: string,
  target: ChainedTarget,
): Promise<LastCopy> {
  // Pauses for other callers would hold the seal up.
  const urgent = { ...work, throttle: createThrottle(work.context.time, undefined) }
  const pending = copyPending(urgent, group, target)
  // Its rejection is thrown below, and must not end the process meanwhile.
  pending.catch(() => {})
  try {
    return await copyRest(urgent, after, group, target)
  } finally {
    await pending
  }
}

async function copyRest(
  work: MoveWork,
  after: UpdatedPlace,
  group: string,
  target: ChainedTarget,
): Promise<LastCopy> {
  const isIn = entitiesIn(work.context, group)
  let copied = 0
  let different = 0
  let lastUpdated = 0
  for (let place = after; ;) {
    throwIfAborted(work.signal)
    const { some, last, isLast } = await pageOfGroup(work, place, isIn)
    for (const batch of batchesOf(some)) {
      const copies = await copiesOf(work, batch)
      await receive(work, copies, target)
      copied += copies.length
      different += await countDifferent(work, copies)
    }
    for (const { updated } of some) lastUpdated = Math.max(lastUpdated, updated)
    if (isLast || last === undefined) return { copied, different, lastUpdated }
    place = placeOf(last)
  }
}

interface GroupPage {
  readonly some: readonly Copyable[]
  readonly last: UpdatedPlace | undefined
  readonly isLast: boolean
}

async function pageOfGroup(
  work: MoveWork,
  after: UpdatedPlace,
  isIn: (id: Uint8Array) => boolean,
): Promise<GroupPage> {
  const { signal } = work
  const source = sourceOf(work)
  const read = (maxBody: number): Promise<readonly Copyable[]> =>
    source.entities.pageOfChanges({ after }, PAGE, { signal, maxBody })
  let page: readonly Copyable[] = []
  const ofGroup = (): readonly Copyable[] => page.filter(({ id }) => isIn(id))
  // An empty page is not flushed.
  await lastingRows(
    source,
    async () => {
      page = await read(MAX_BODY)
      return ofGroup()
    },
    async () => (await read(0)).filter(({ id }) => isIn(id)),
    { signal },
  )
  return { some: ofGroup(), last: page.at(-1), isLast: page.length < PAGE }
}

/** Counts the copies at the target that are not as they were sent. */
async function countDifferent(work: MoveWork, copies: readonly CopiedRow[]): Promise<number> {
  const ids = copies.map(({ id }) => id)
  const found = await targetOf(work).entities.checksums(ids, { signal: work.signal })
  return copies.filter((copy, i) => !isCopy(checksumOf(copy), found[i])).length
}

function checksumOf({
  version,
  body,
}: CopiedRow): Pick<EntityChecksum, 'version' | 'checksum' | 'bodyBytes'> {
  return { version, checksum: body === null ? 0 : crc32(body), bodyBytes: body?.length ?? 0 }
}

/**
 * Copies the pending rows of these buckets under their seal. Earlier would not do: a commit adds a pending row until the
 * seal. A cleaner may delete one meanwhile; its copy then leads to a look at an entity whose rows are there.
 */
async function copyPending(work: MoveWork, buckets: string, { epoch }: ChainedTarget): Promise<void> {
  const { context, move, signal } = work
  const { pending } = targetOf(work)
  const isIn = entitiesIn(context, buckets)
  for await (const page of pagesOfPending(work, move.from)) {
    const some = page.filter(({ entityId }) => isIn(entityId))
    if (some.length > 0) await fenced(() => pending.add(some, { epoch, signal }))
  }
}
