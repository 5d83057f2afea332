import { isLooseleafError, type EntityId } from '@looseleaf/core'
import type { QueryOptions, QueryPage } from '@looseleaf/index-engine'
import type { Fate } from './collection.ts'

export interface ChangeWhereOptions extends Omit<QueryOptions, 'limit'> {
  /** Called after each page. */
  readonly onProgress?: ((progress: ChangedWhere) => void) | undefined
}

/** What a change of all that match has done, up to where. */
export interface ChangedWhere {
  /** Entities changed or deleted by this call. */
  readonly done: number
  /** Given to the next call, it goes on from there; not there when all is done. */
  readonly cursor?: string
}

interface Found {
  readonly id: EntityId
  readonly version: number
}

const PAGE = 200

/**
 * Does something to all that match. Each is done as it was read, at its version: one that was written meanwhile is read again, and
 * left alone if it no longer matches. One that a change moves ahead in the index is met again, so who is done is remembered.
 */
export async function changeWhere(
  pageAt: (
    options: QueryOptions,
  ) => Promise<Pick<QueryPage, 'cursor'> & { readonly items: readonly Found[] }>,
  work: (found: readonly Found[]) => Promise<Fate<unknown>[]>,
  { onProgress, cursor: begin, ...options }: ChangeWhereOptions,
): Promise<ChangedWhere> {
  const done = new Set<EntityId>()
  let cursor = begin
  for (;;) {
    const page = await pageAt({ ...options, limit: PAGE, ...(cursor !== undefined && { cursor }) })
    const items = page.items.filter(({ id }) => !done.has(id))
    const fates = await work(items)
    let again = false
    let failed: Error | undefined
    for (const [i, fate] of fates.entries()) {
      if (fate.ok) done.add(items[i]!.id)
      else if (isLooseleafError(fate.error, 'VERSION_MISMATCH')) again = true
      else if (!isLooseleafError(fate.error, 'NOT_FOUND')) failed ??= fate.error
    }
    if (failed !== undefined) throw failed
    // The same page once more: it has those that were written meanwhile and still match.
    if (again) continue
    cursor = page.cursor
    const progress = { done: done.size, ...(cursor !== undefined && { cursor }) }
    onProgress?.(progress)
    if (cursor === undefined) return progress
  }
}
