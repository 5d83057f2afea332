import type { Bag } from '@looseleaf/core'
import type { BatchRow } from '@looseleaf/core/internal'
import type { PlacedCatalog } from '@looseleaf/index-engine/internal'
import type { CurrentEntity } from '../decisions.ts'
import type { RowChange, SplitChange } from '../row-change.ts'
import { splitAttempt } from '../split-attempt.ts'
import type { WritePolicy } from '../write-policy.ts'
import { itemError } from './batch-errors.ts'
import { givenUpKeys } from './batch-keys.ts'
import type { TakenItem } from './take-items.ts'

/** An item of one attempt. */
export interface PlannedItem {
  readonly item: TakenItem
  readonly found: CurrentEntity
  /** Null for a tombstone; undefined for an item that writes nothing. */
  readonly bag: Bag | null | undefined
  readonly body: Uint8Array | null
  readonly rows: RowChange
}

/** An item whose rows are split into those of the transaction and those of statements of their own. */
export interface SplitItem extends PlannedItem {
  readonly split: SplitChange
}

/** An attempt whose commit was sent. */
export interface BatchAttempt {
  readonly version: number
  readonly planned: readonly SplitItem[]
  readonly catalog: PlacedCatalog
  readonly shard: number
  /** Tables of the deferred rows of each item. */
  readonly deferred: readonly (readonly string[])[]
}

export const NO_ROWS: RowChange = {
  claimed: [],
  gained: [],
  deletedNow: [],
  deletedLater: [],
  mayReturn: [],
  keysAfter: [],
}

/** Splits the rows of all items. A key that another item gives up is claimed by a statement of its own, which looks at the holder. */
export function splitItems(
  planned: readonly PlannedItem[],
  { catalog, shard, version }: Pick<BatchAttempt, 'catalog' | 'shard' | 'version'>,
  policy: WritePolicy,
): readonly SplitItem[] {
  const isGivenUp = givenUpKeys(planned)
  return planned.map((each) => {
    const { item, rows } = each
    const [exchanged, claimed] = [
      rows.claimed.filter(isGivenUp),
      rows.claimed.filter((key) => !isGivenUp(key)),
    ]
    const entity = { id: item.id, version }
    const { rows: far, ...local } = splitAttempt(catalog, policy, shard, entity, { ...rows, claimed })
    return { ...each, split: { ...local, rows: { ...far, claimed: [...far.claimed, ...exchanged] } } }
  })
}

/** Returns the rows of the transaction. */
export function rowsOf({ planned, version, deferred }: BatchAttempt): readonly BatchRow[] {
  return planned.map(({ item: { id }, found, bag, body, split: { local } }, place) => {
    const { version: base } = found
    return isWritten(bag, found)
      ? { id, base, version, body, deferred: deferred[place], local }
      : { id, base }
  })
}

/** Leaves out the local claims of a row, once they were taken by statements of their own. */
export function withoutClaims(row: BatchRow): BatchRow {
  if (row.version === undefined || row.local === undefined) return row
  return { ...row, local: { ...row.local, claims: undefined } }
}

/** The commit carries this shard's epoch, so its catalog decides. The catalogs of other shards may be one change behind. */
export function defersOf({ catalog, shard }: Pick<BatchAttempt, 'catalog' | 'shard'>): boolean {
  return catalog.shards[shard]?.onIndexFailure === 'defer'
}

/** False for an item that is only held. */
export function isWritten(bag: Bag | null | undefined, { version }: CurrentEntity): boolean {
  return bag !== undefined || version === 0
}

/** Does a piece of work of one item, and gives its error the item's place. */
export function ofItem<Result>({ name }: TakenItem, place: number, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw itemError(place, name, error)
  }
}

/** Does the work of all items at once. When all have ended, throws the error of the first that failed, with its place. */
export async function inOrder<Result>(
  planned: readonly SplitItem[],
  work: (item: SplitItem) => Result | Promise<Result>,
): Promise<readonly Result[]> {
  const results = await Promise.allSettled(planned.map(async (each) => work(each)))
  return results.map((result, place) => {
    if (result.status === 'fulfilled') return result.value
    throw itemError(place, planned[place]!.item.name, result.reason)
  })
}
