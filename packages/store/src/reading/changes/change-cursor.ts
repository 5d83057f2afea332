import { LooseleafError } from '@looseleaf/core'
import { parseObject } from '@looseleaf/core/internal'
import type { FollowedPlace } from '@looseleaf/protocol/internal'

const FORMAT = 2
/** Numbers per place. */
const WIDTH = 3

/** Encodes a place on each shard, and the id of the store, as text. */
export function changeCursor(storeId: string, places: readonly FollowedPlace[]): string {
  const numbers = places.flatMap(({ updated, addedId, since }) => [updated, addedId, since])
  return Buffer.from(JSON.stringify([FORMAT, storeId, ...numbers])).toString('base64url')
}

/**
 * Decodes the places of a cursor, by shard number. A cursor from before a shard joined the store has no place for it. Throws only
 * `BAD_CURSOR`, for any other text.
 */
export function placesOf(cursor: string, storeId: string): FollowedPlace[] {
  const parts: unknown = parseObject(Buffer.from(cursor, 'base64url').toString())
  const [format, store, ...numbers] = Array.isArray(parts) ? (parts as unknown[]) : []
  const isWhole =
    numbers.length % WIDTH === 0 &&
    numbers.every((number) => Number.isSafeInteger(number) && (number as number) >= 0)
  if (format !== FORMAT || !isWhole) throw badCursor('is not one that this version of Looseleaf has given')
  if (store !== storeId) throw badCursor('is of another store')
  return Array.from({ length: numbers.length / WIDTH }, (_, shard) => ({
    updated: numbers[WIDTH * shard] as number,
    addedId: numbers[WIDTH * shard + 1] as number,
    since: numbers[WIDTH * shard + 2] as number,
  }))
}

function badCursor(problem: string): LooseleafError {
  return new LooseleafError(
    'BAD_CURSOR',
    `The cursor of changes ${problem}. Begin again with 'beginning' or 'now'.`,
  )
}
