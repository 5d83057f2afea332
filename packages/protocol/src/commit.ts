import { isLooseleafError, type EntityReplace, type LooseleafError } from '@looseleaf/core'

/** A write of an entity, with the epoch of the catalog that its index rows were derived by; `base` 0 where nothing is there. */
export type Commit = EntityReplace & { readonly epoch: number }

/** Sends the write of one entity; calls may share statements. */
export interface EntityWrites {
  insert(row: Commit): Promise<unknown>
  /** Answers whether it has replaced the base. */
  replace(row: Commit): Promise<boolean>
}

/**
 * `won`: the entity is at this version. `lost`: another write came first. `stale`: the shard has another epoch. After either of
 * these nothing was written, and nothing ever will be. `unsettled`: there is no answer; it may have happened, or may yet.
 */
export type CommitOutcome = 'won' | 'lost' | 'unsettled' | 'stale'

/**
 * Law 2: the entity is written only if its version is the base that was read. The version is an attempt's own and greater than
 * the base (`clock.next`). A writer that has not won reads again and takes a new version; its index rows are not undone. `onUnsettled` is called
 * with the reason for which there is no answer.
 */
export async function commit(
  row: Commit,
  { insert, replace }: EntityWrites,
  onUnsettled?: (reason: LooseleafError) => void,
): Promise<CommitOutcome> {
  try {
    if (row.base === 0) await insert(row)
    else if (!(await replace(row))) return 'lost'
    return 'won'
  } catch (error) {
    if (isLooseleafError(error, 'ALREADY_EXISTS')) return 'lost'
    if (isLooseleafError(error, 'STALE_EPOCH')) return 'stale'
    if (isLooseleafError(error) && error.unknownOutcome) {
      onUnsettled?.(error)
      return 'unsettled'
    }
    throw error
  }
}
