import { LooseleafError, type UpdatedPlace } from '@looseleaf/core'

/** Of this form of a cursor; another one gets another number. */
const FORMAT = 1

/** A place on each shard, as a text that says which store it is of. */
export function changeCursor(storeId: string, places: readonly UpdatedPlace[]): string {
  const numbers = places.flatMap(({ updated, addedId }) => [updated, addedId])
  return Buffer.from(JSON.stringify([FORMAT, storeId, ...numbers])).toString('base64url')
}

/** The places of a cursor. Throws `BAD_CURSOR`, and nothing else, for whatever else is given. */
export function placesOf(cursor: string, storeId: string, shards: number): UpdatedPlace[] {
  const [format, store, ...numbers] = partsOf(cursor)
  const isWhole = numbers.every((number) => Number.isSafeInteger(number) && (number as number) >= 0)
  if (format !== FORMAT || !isWhole) throw refused('is not one that this version of Looseleaf has given')
  if (store !== storeId) throw refused('is of another store')
  if (numbers.length !== 2 * shards)
    throw refused(`is of ${numbers.length / 2} shards, and the store has ${shards}`)
  return Array.from({ length: shards }, (_, shard) => ({
    updated: numbers[2 * shard] as number,
    addedId: numbers[2 * shard + 1] as number,
  }))
}

function partsOf(cursor: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}

function refused(problem: string): LooseleafError {
  return new LooseleafError(
    'BAD_CURSOR',
    `The cursor of changes ${problem}. Begin again with 'beginning' or 'now'.`,
  )
}
