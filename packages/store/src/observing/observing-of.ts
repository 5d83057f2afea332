import { badArgument } from '@looseleaf/core/internal'
import type { DataStoreOptions } from '../types.ts'
import { createObserving, type Observing } from './observing.ts'
import { createSlowCalls } from './slow-calls.ts'

/** Creates the observing of a store by its options. Throws `BAD_OPTION` for `onSlowCall` without `slowCallMs`. */
export function observingOf(
  { observer, slowCallMs, onSlowCall }: DataStoreOptions,
  onWarning: (message: string) => void,
): Observing {
  if (onSlowCall !== undefined && slowCallMs === undefined)
    throw badArgument('DataStore.open', 'slowCallMs where it takes onSlowCall', slowCallMs)
  return createObserving(
    observer,
    (error) => onWarning(`The observer failed: ${String(error)}`),
    slowCallMs === undefined ? undefined : createSlowCalls({ slowCallMs, onSlowCall, onWarning }),
  )
}
