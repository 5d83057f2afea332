import type { EndedCall } from '@looseleaf/core'

/** What a call answers by its error: it says what it has found, and nothing is wrong with the store. */
const ANSWERS: ReadonlySet<unknown> = new Set([
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'DUPLICATE_KEY',
  'VERSION_MISMATCH',
] satisfies EndedCall['failure'][])

/** Whether a call has failed, and not only answered with an error, as the first call of an upsert does. */
export function hasFailed({ failure }: Pick<EndedCall, 'failure'>): boolean {
  return failure !== undefined && !ANSWERS.has(failure)
}
