import { formatId, isLooseleafError, LooseleafError } from '@looseleaf/core'
import type { TakenItem } from './take-items.ts'

/** The place of a batch, for its errors. */
export interface BatchTarget {
  readonly items: readonly TakenItem[]
  /** The name of the shard. */
  readonly shard: string
}

/**
 * Returns the error of a batch because of one item: with the code and the fields of the item's error, and its place. Errors of other classes,
 * which an edit has thrown, stay as they are.
 */
export function itemError(place: number, name: string | undefined, error: unknown): unknown {
  if (!isLooseleafError(error) || error.item !== undefined || error.code === 'ABORTED') return error
  const { code, entity, index, holder, issues, shard, retryable, undone, cause } = error
  const of = name === undefined ? '' : ` (${name})`
  const message = `The batch was not written because of items[${place}]${of}: ${error.message}`
  return new LooseleafError(code, message, {
    entity,
    index,
    holder,
    issues,
    shard,
    retryable,
    undone,
    cause: cause ?? error,
    item: place,
  })
}

/** Makes the error of a batch that lost every race, or may begin no further attempt. `lost` is the place of an item that others wrote. */
export function givenUp(
  code: 'CONFLICT' | 'DEADLINE',
  { items, shard }: BatchTarget,
  tries: number,
  lost: number | undefined,
  cause: LooseleafError | undefined,
): LooseleafError {
  const entity = lost === undefined ? undefined : formatId(items[lost]!.id)
  const reasons = [
    lost === undefined ? undefined : `Other writers wrote entity ${entity} (items[${lost}]) first.`,
    cause === undefined ? undefined : `The last attempt failed with: ${cause.message}`,
    tries > 0 ? undefined : 'Its bucket was being moved to another shard all the time.',
  ].filter((reason) => reason !== undefined)
  const limit = code === 'DEADLINE' ? ' within writeTimeoutMs' : ''
  const message = `The batch of ${items.length} entities was not written in ${tries} attempts${limit}. ${reasons.join(' ')}`
  return new LooseleafError(code, message.trim(), { entity, shard, item: lost, cause })
}

/**
 * Makes the error of a batch that may have taken place, as a whole or not at all. `cause` is the error that kept the writer from finding
 * out. May be retried if the same batch cannot take place twice.
 */
export function unknownBatch(
  { items, shard }: BatchTarget,
  versions: readonly number[],
  reasons: readonly string[],
  cause: unknown,
): LooseleafError {
  const entity = formatId(items.find(({ name }) => name !== 'check')?.id ?? items[0]!.id)
  const isFresh = items.some((item) => item.isFresh)
  const addsUp = items.some((item) => item.addsUp)
  const parts = [
    `It is not known whether the batch of ${items.length} entities was written, as version ${versions.join(' or ')}: all of them, or none.`,
    `The reason: ${[...new Set(reasons)].join(' ')}`,
  ]
  // Messages of other errors may hold values.
  if (isLooseleafError(cause)) parts.push(`The outcome could not be found out: ${cause.message}`)
  if (isFresh || addsUp)
    parts.push(`Read entity ${entity} before you try again: the batch may have been written.`)
  return new LooseleafError('OUTCOME_UNKNOWN', parts.join(' '), {
    entity,
    shard,
    retryable: !isFresh && !addsUp,
    cause,
  })
}
