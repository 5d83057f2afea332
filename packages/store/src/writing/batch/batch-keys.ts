import { formatId, LooseleafError } from '@looseleaf/core'
import { idKey, type HandedClaim, type Key } from '@looseleaf/core/internal'
import { keyIdentity, shardsOfRow, tableSpec, type Placement } from '@looseleaf/index-engine/internal'
import type { PlacedKey } from '@looseleaf/protocol/internal'
import type { RowChange } from '../row-change.ts'
import { itemError } from './batch-errors.ts'
import type { TakenItem } from './take-items.ts'

export interface ItemKeys {
  readonly item: TakenItem
  readonly rows: Pick<RowChange, 'claimed' | 'deletedNow'>
}

/** Throws `DUPLICATE_KEY` if two items of a batch want one key. */
export function requireDistinctKeys(items: readonly ItemKeys[]): void {
  const wanted = new Map<string, number>()
  for (const [place, { item, rows }] of items.entries()) {
    for (const { entry, key } of rows.claimed) {
      const identity = identityOf(entry.table, key)
      const other = wanted.get(identity)
      wanted.set(identity, place)
      if (other === undefined) continue
      const [entity, holder] = [formatId(item.id), formatId(items[other]!.item.id)]
      const message = `Index ${entry.name} is unique, and items[${other}], entity ${holder}, wants the same key.`
      const error = new LooseleafError('DUPLICATE_KEY', message, { entity, index: entry.name, holder })
      throw itemError(place, item.name, error)
    }
  }
}

/** Returns a test for the keys that some item of a batch gives up. */
export function givenUpKeys(items: readonly ItemKeys[]): (key: PlacedKey) => boolean {
  const given = new Set(items.flatMap(claimsGivenUp))
  return ({ entry, key }) => given.size > 0 && given.has(identityOf(entry.table, key))
}

/**
 * Returns the claim of a key to hand over if the holder gives the key up in this batch; undefined otherwise. Throws `DUPLICATE_KEY` if the claim
 * is on another shard, which the transaction cannot change, and the retryable `CONFLICT` while its bucket is being moved.
 */
export type PassKey = (
  wanted: PlacedKey,
  holder: Uint8Array,
  item: TakenItem,
  version: number,
) => HandedClaim | undefined

/** Passes the keys that items of a batch give up, which another item may take in the same transaction. */
export function passedKeys(items: readonly ItemKeys[], placement: Placement, shard: number): PassKey {
  const givenUp = new Map(items.map((each) => [idKey(each.item.id), new Set(claimsGivenUp(each))]))
  return ({ entry, key }, holder, item, version) => {
    if (!givenUp.get(idKey(holder))?.has(identityOf(entry.table, key))) return undefined
    const [first, second] = shardsOfRow(entry, placement, key, item.id)
    if (first === shard && second === undefined)
      return { spec: tableSpec(entry), key, from: holder, to: { entityId: item.id, version } }
    const error = { entity: formatId(item.id), index: entry.name, holder: formatId(holder) }
    const exchange = `Index ${entry.name}: entity ${error.entity} cannot take the key that entity ${error.holder} gives up in the same batch`
    if (second !== undefined)
      throw new LooseleafError('CONFLICT', `${exchange} while the bucket of the key is being moved.`, error)
    throw new LooseleafError(
      'DUPLICATE_KEY',
      `${exchange}, because the claim is on another shard. Give the key up by a write before the batch.`,
      error,
    )
  }
}

/** Returns the identities of the unique keys that an item gives up. */
function claimsGivenUp({ rows }: ItemKeys): readonly string[] {
  return rows.deletedNow
    .filter(({ entry }) => entry.unique)
    .map(({ entry, key }) => identityOf(entry.table, key))
}

function identityOf(table: string, key: Key): string {
  return `${table} ${keyIdentity(key)}`
}
