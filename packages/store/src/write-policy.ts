import { LooseleafError } from '@looseleaf/core'
import type { DataStoreOptions, WriteOrder } from './types.ts'

/** In which order an entity and its index rows are written, and what becomes of rows that cannot be. */
export interface WritePolicy {
  readonly writeOrder: WriteOrder
  readonly onIndexFailure: 'fail' | 'defer'
  readonly writeTimeoutMs: number
}

const DEFAULT_WRITE_TIMEOUT_MS = 30_000

/** Throws `BAD_OPTION` for what is not one of the words, or does not go together. */
export function writePolicy(options: DataStoreOptions): WritePolicy {
  const { writeOrder = 'index-first', onIndexFailure = 'fail', deleteDelayMs = 0 } = options
  const { writeTimeoutMs = DEFAULT_WRITE_TIMEOUT_MS } = options
  const check = (isRight: boolean, what: string): void => {
    if (!isRight) throw new LooseleafError('BAD_OPTION', what)
  }
  check(
    ['index-first', 'entity-first'].includes(writeOrder),
    "writeOrder has to be 'index-first' or 'entity-first'.",
  )
  check(['fail', 'defer'].includes(onIndexFailure), "onIndexFailure has to be 'fail' or 'defer'.")
  check(
    writeOrder === 'index-first' || onIndexFailure === 'fail',
    "onIndexFailure: 'defer' goes with writeOrder 'index-first'; with 'entity-first' rows that fail are left to the cleaner anyway.",
  )
  check(
    Number.isFinite(deleteDelayMs) && deleteDelayMs >= 0,
    'deleteDelayMs has to be a number of milliseconds, 0 or more.',
  )
  check(
    Number.isFinite(writeTimeoutMs) && writeTimeoutMs > 0,
    'writeTimeoutMs has to be a number of milliseconds above 0.',
  )
  return { writeOrder, onIndexFailure, writeTimeoutMs }
}
