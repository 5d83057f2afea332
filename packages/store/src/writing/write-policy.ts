import { badOption } from '@looseleaf/core/internal'
import type { DataStoreOptions, WriteOrder } from '../types.ts'

/** The options of this process for its writes. */
export interface WritePolicy {
  readonly writeOrder: WriteOrder
  readonly writeTimeoutMs: number
}

const DEFAULT_WRITE_TIMEOUT_MS = 30_000

/** Returns the options of writes with their defaults. Throws `BAD_OPTION` for a value that does not go with another. */
export function writePolicy({
  writeOrder = 'index-first',
  onIndexFailure,
  writeTimeoutMs = DEFAULT_WRITE_TIMEOUT_MS,
}: DataStoreOptions): WritePolicy {
  if (writeOrder === 'entity-first' && onIndexFailure === 'defer') {
    throw badOption(
      "onIndexFailure: 'defer' goes with writeOrder 'index-first'; with 'entity-first' rows that fail are left to the cleaner anyway.",
    )
  }
  return { writeOrder, writeTimeoutMs }
}
