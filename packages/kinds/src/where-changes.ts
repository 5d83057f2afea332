import { isLooseleafError, type EntityId, type Fate, type LooseleafError } from '@looseleaf/core'
import type { ReplicaReadOptions } from '@looseleaf/core/internal'
import type { QueryOptions, QueryPage } from '@looseleaf/index-engine'
import { addFailure, type Failure } from './fate.ts'

export interface ChangeWhereOptions extends Omit<
  QueryOptions,
  'limit' | 'onUnavailable' | keyof ReplicaReadOptions
> {
  /** Called after each page, and before the call rejects because of an entity's error. */
  readonly onProgress?: ((progress: ChangedWhere) => void) | undefined
}

/** The progress or result of `updateWhere` and `deleteWhere`. */
export interface ChangedWhere {
  /** Entities that this call has changed, or deleted. */
  readonly done: number
  /** Entities that could not be changed, with their errors; the first 100. All others were changed. */
  readonly failed: readonly Failure[]
  /** False if an entity could not be changed, or if the query may have missed one, see `cost.complete` of a page. */
  readonly complete: boolean
  /** Another call continues from it. Absent at the end. */
  readonly cursor?: string
}

interface Found {
  readonly id: EntityId
  readonly version: number
}

type FoundPage<F> = Pick<QueryPage, 'cursor'> & {
  readonly items: readonly F[]
  readonly cost: Pick<QueryPage['cost'], 'complete'>
}

const PAGE_LIMIT = 200

/** Errors with one entity as their cause. Any other error would repeat for the next entity, so it ends the call. */
const ENTITY_ERRORS: ReadonlySet<LooseleafError['code']> = new Set([
  'BAD_ID',
  'BAD_INDEX_VALUE',
  'BAD_OPTION',
  'BAD_PROPERTY',
  'BODY_DAMAGED',
  'BODY_TOO_LARGE',
  'BODY_UNKNOWN',
  'DUPLICATE_KEY',
  'SCHEMA_MISMATCH',
])

/**
 * Changes every matching entity, page by page. `work` changes the entities of a page at the versions that were read, and returns for each
 * whether it changed.
 * - An entity that another process has written is read again, and skipped if it no longer matches.
 * - A change may move an entity ahead in the index, where a later page has it again. So the call remembers the ids that are done.
 * - An error that every entity would meet ends the call, after `onProgress` has got the cursor of the page.
 */
export async function changeWhere<F extends Found>(
  pageAt: (options: QueryOptions) => Promise<FoundPage<F>>,
  work: (found: readonly F[]) => Promise<Fate<boolean>[]>,
  { onProgress, cursor: start, ...options }: ChangeWhereOptions,
): Promise<ChangedWhere> {
  const finished = new Set<EntityId>()
  const failed: Failure[] = []
  let cursor = start
  let done = 0
  let isComplete = true
  for (;;) {
    const page = await pageAt({ ...options, limit: PAGE_LIMIT, ...(cursor !== undefined && { cursor }) })
    const items = page.items.filter(({ id }) => !finished.has(id))
    const fates = await work(items)
    let hasStaleItems = false
    let fatal: Error | undefined
    for (const [i, fate] of fates.entries()) {
      const { id } = items[i]!
      if (fate.ok) {
        finished.add(id)
        if (fate.value) done++
      } else if (isLooseleafError(fate.error, 'VERSION_MISMATCH')) hasStaleItems = true
      else if (isLooseleafError(fate.error, 'NOT_FOUND')) finished.add(id)
      else if (isLooseleafError(fate.error) && !ENTITY_ERRORS.has(fate.error.code)) fatal ??= fate.error
      else {
        finished.add(id)
        addFailure(failed, id, fate.error)
      }
    }
    // Reads the page again, which has the stale items in their current state, if they still match.
    if (hasStaleItems && fatal === undefined) continue
    if (fatal === undefined) cursor = page.cursor
    isComplete &&= page.cost.complete
    const complete = isComplete && failed.length === 0
    const progress = { done, failed: [...failed], complete, ...(cursor !== undefined && { cursor }) }
    onProgress?.(progress)
    if (fatal !== undefined) throw fatal
    if (cursor === undefined) return progress
  }
}
