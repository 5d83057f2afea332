import type { EndedCall } from '@looseleaf/core'

/** Error codes that are a normal answer of a call, not a failure of the store. */
const ANSWER_CODES: ReadonlySet<unknown> = new Set([
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'DUPLICATE_KEY',
  'VERSION_MISMATCH',
] satisfies EndedCall['failure'][])

/** Tells whether a call has failed. An error such as `NOT_FOUND` is an answer, as in the first call of an upsert. */
export function hasFailed({ failure }: Pick<EndedCall, 'failure'>): boolean {
  return failure !== undefined && !ANSWER_CODES.has(failure)
}
