import { LooseleafError } from '@looseleaf/core'
import { describeKind } from '@looseleaf/core/internal'
import type { DataStoreOptions, WriteOrder } from '../types.ts'

/** The options of this process for its writes. */
export interface WritePolicy {
  readonly writeOrder: WriteOrder
  readonly writeTimeoutMs: number
}

const DEFAULT_WRITE_TIMEOUT_MS = 30_000
/** Ten minutes. Rows of entities that have moved are kept in memory for about `queryTimeMs`. */
const MAX_QUERY_TIME_MS = 600_000

/** Checks the options of writes. Throws `BAD_OPTION` for a value that is invalid, or that does not go with another. */
export function writePolicy(options: DataStoreOptions): WritePolicy {
  const { writeOrder = 'index-first', onIndexFailure } = options
  const { writeTimeoutMs = DEFAULT_WRITE_TIMEOUT_MS, queryTimeMs } = options
  const check = (isValid: boolean, option: string, expected: string, value: unknown): void => {
    if (isValid) return
    const got = typeof value === 'number' ? String(value) : describeKind(value)
    throw new LooseleafError('BAD_OPTION', `${option} has to be ${expected}; got ${got}.`)
  }
  check(
    ['index-first', 'entity-first'].includes(writeOrder),
    'writeOrder',
    "'index-first' or 'entity-first'",
    writeOrder,
  )
  if (writeOrder === 'entity-first' && onIndexFailure === 'defer') {
    throw new LooseleafError(
      'BAD_OPTION',
      "onIndexFailure: 'defer' goes with writeOrder 'index-first'; with 'entity-first' rows that fail are left to the cleaner anyway.",
    )
  }
  check(
    queryTimeMs === undefined ||
      (Number.isInteger(queryTimeMs) && queryTimeMs >= 1 && queryTimeMs <= MAX_QUERY_TIME_MS),
    'queryTimeMs',
    `a whole number of milliseconds from 1 to ${MAX_QUERY_TIME_MS}`,
    queryTimeMs,
  )
  check(
    Number.isFinite(writeTimeoutMs) && writeTimeoutMs > 0,
    'writeTimeoutMs',
    'a number of milliseconds above 0',
    writeTimeoutMs,
  )
  return { writeOrder, writeTimeoutMs }
}
