import { LooseleafError, type EntityId } from '@looseleaf/core'
import { badOption, describeKind, idBytes, isPlainObject, type ColumnType } from '@looseleaf/core/internal'
import { COLUMN_TYPES } from '../definitions/key-functions.ts'
import type { ValueOf } from '../definitions/property-types.ts'
import { toKeyValue } from './key-value.ts'
import { stableBytes } from './shard-of-row.ts'

/**
 * A value of an index property, under its type: `{ string: 'acme' }`. It stands for the bucket of the rows that an index with this
 * property as its `shardOn` has for the value. `{ uuid }` stands for the bucket of that id.
 */
export type NearKey = {
  readonly [T in ColumnType]: { readonly [K in T]: ValueOf<K> }
}[ColumnType]

/** A place for a new id: the bucket of an id, or of a key. */
export type Near = EntityId | NearKey

/** Functions for the two kinds of bytes that decide a place. */
export interface PlaceFunctions<Place> {
  ofId(id: Uint8Array): Place
  ofKey(key: Uint8Array): Place
}

/**
 * Applies `ofId` to the bytes of an id or a uuid, or `ofKey` to those of any other key. The rows that an index is sharded by have the same
 * bytes. Throws `BAD_ID` for text that is no id, and `BAD_OPTION` for anything else that is no place. Messages never have the value.
 */
export function placeOfNear<Place>(near: Near, { ofId, ofKey }: PlaceFunctions<Place>): Place {
  if (typeof near === 'string') {
    const id = idBytes(near)
    if (id === undefined) throw notAPlace('BAD_ID', describeKind(near))
    return ofId(id)
  }
  const entries: readonly (readonly [string, unknown])[] = isPlainObject(near) ? Object.entries(near) : []
  const [name, value] = entries[0] ?? []
  const type = COLUMN_TYPES.find((each) => each === name)
  if (type === undefined || entries.length > 1)
    throw notAPlace('BAD_OPTION', entries.length > 0 ? 'an object of another form' : describeKind(near))
  const result = toKeyValue(type, value)
  if ('misfit' in result) throw badOption(`The key in the option near has another type: ${result.misfit}.`)
  const bytes = stableBytes(result.value)
  return type === 'uuid' ? ofId(bytes) : ofKey(bytes)
}

function notAPlace(code: 'BAD_ID' | 'BAD_OPTION', received: string): LooseleafError {
  return new LooseleafError(
    code,
    `The option near has to be an id, or a key under its type such as { string: 'acme' }; the types are ${COLUMN_TYPES.join(', ')}. Got ${received}.`,
  )
}
