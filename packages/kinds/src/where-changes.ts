import {
  isLooseleafError,
  type EntityId,
  type Fate,
  type LooseleafError,
  type ReplicaReadOptions,
} from '@looseleaf/core'
import type { QueryOptions, QueryPage } from '@looseleaf/index-engine'
import { addFailure, type Failure } from './fate.ts'

export interface ChangeWhereOptions extends Omit<QueryOptions, 'limit' | keyof ReplicaReadOptions> {
  /** Called after each page, and before an error is thrown. */
  readonly onProgress?: ((progress: ChangedWhere) => void) | undefined
}

/** What a change of all that match has done, up to where. */
export interface ChangedWhere {
  /** Entities that this call has changed, or deleted. */
  readonly done: number
  /** Those that could not be changed, up to 100, and why; all others were. */
  readonly failed: readonly Failure[]
  /** False where an entity could not be changed, or where the query may have missed some: see `cost.complete` of a page. */
  readonly complete: boolean
  /** Given to another call, it goes on from there; not there when all is done. */
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

const PAGE = 200

/** What one entity alone is the cause of; anything else would meet the next one too. */
const OF_ONE: ReadonlySet<LooseleafError['code']> = new Set([
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
 * Does something to all that match, and answers for each whether it changed anything. Each is done as it was read, at its version:
 * one that was written meanwhile is read again, and left alone if it no longer matches. One that a change moves ahead in the index
 * is met again, so who is done is remembered. Throws what every entity would meet, when `onProgress` has been told how far it is.
 */
export async function changeWhere<F extends Found>(
  pageAt: (options: QueryOptions) => Promise<FoundPage<F>>,
  work: (found: readonly F[]) => Promise<Fate<boolean>[]>,
  { onProgress, cursor: begin, ...options }: ChangeWhereOptions,
): Promise<ChangedWhere> {
  const seen = new Set<EntityId>()
  const failed: Failure[] = []
  let cursor = begin
  let done = 0
  let isComplete = true
  for (;;) {
    const page = await pageAt({ ...options, limit: PAGE, ...(cursor !== undefined && { cursor }) })
    const items = page.items.filter(({ id }) => !seen.has(id))
    const fates = await work(items)
    let again = false
    let fatal: Error | undefined
    for (const [i, fate] of fates.entries()) {
      const { id } = items[i]!
      if (fate.ok) {
        seen.add(id)
        if (fate.value) done++
      } else if (isLooseleafError(fate.error, 'VERSION_MISMATCH')) again = true
      else if (isLooseleafError(fate.error, 'NOT_FOUND')) seen.add(id)
      else if (isLooseleafError(fate.error) && !OF_ONE.has(fate.error.code)) fatal ??= fate.error
      else {
        seen.add(id)
        addFailure(failed, id, fate.error)
      }
    }
    // The same page once more: it has those that were written meanwhile and still match.
    if (again && fatal === undefined) continue
    if (fatal === undefined) cursor = page.cursor
    isComplete &&= page.cost.complete
    const complete = isComplete && failed.length === 0
    const progress = { done, failed: [...failed], complete, ...(cursor !== undefined && { cursor }) }
    onProgress?.(progress)
    if (fatal !== undefined) throw fatal
    if (cursor === undefined) return progress
  }
}
