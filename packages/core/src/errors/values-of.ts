import { isLooseleafError, LooseleafError } from './errors.ts'
import type { Fate } from './fate.ts'

/**
 * Returns the values of a call's items in order. Throws `SOME_FAILED` if an item failed, with all fates and the first
 * failure as its cause. The error is retryable if every failure is, and if a retry of the call would do no other item twice:
 * `isRepeatable` tells that of the item at an index.
 */
export function valuesOf<T>(
  call: string,
  fates: readonly Fate<T>[],
  isRepeatable: (index: number) => boolean,
): T[] {
  const values: T[] = []
  for (const fate of fates) {
    if (!fate.ok) throw someFailed(call, fates, isRepeatable)
    values.push(fate.value)
  }
  return values
}

function someFailed(
  call: string,
  fates: readonly Fate<unknown>[],
  isRepeatable: (index: number) => boolean,
): LooseleafError {
  const errors = fates.flatMap((fate) => (fate.ok ? [] : [fate.error]))
  const [first] = errors
  return new LooseleafError(
    'SOME_FAILED',
    `${errors.length} of the ${fates.length} items of ${call} failed. The first of them: ${first?.message}`,
    {
      fates,
      retryable:
        errors.every((error) => isLooseleafError(error) && error.retryable) &&
        fates.every(({ ok }, index) => !ok || isRepeatable(index)),
      unknownOutcome: errors.some((error) => isLooseleafError(error) && error.unknownOutcome),
      cause: first,
    },
  )
}
