import { isLooseleafError, LooseleafError } from './errors.ts'
import type { Fate } from './fate.ts'

/**
 * Returns the values of a call's items in their order. Throws `SOME_FAILED` when an item has failed, with all fates and the first
 * failure as its cause. The error is retryable if every failure is, and if the same call would do none of the other items twice:
 * `isRepeatable` tells that of the item at a place.
 */
export function valuesOf<T>(
  call: string,
  fates: readonly Fate<T>[],
  isRepeatable: (place: number) => boolean,
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
  isRepeatable: (place: number) => boolean,
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
        fates.every(({ ok }, place) => !ok || isRepeatable(place)),
      unknownOutcome: errors.some((error) => isLooseleafError(error) && error.unknownOutcome),
      cause: first,
    },
  )
}
