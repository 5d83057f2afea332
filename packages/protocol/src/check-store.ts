import { badArgument, checkOptions, isRecord, type OptionKinds } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'

/** Any open store, such as a `DataStore`, for calls that need its context alone. */
export interface AnyStore {
  readonly context: EngineContext
}

/** Throws `BAD_OPTION` for a value that is not a store, and for options that are not valid. */
export function checkStore<Options extends object>(
  call: string,
  store: AnyStore,
  options: Options,
  known: OptionKinds<Options>,
): void {
  const context: unknown = isRecord(store) ? store['context'] : undefined
  if (!isRecord(context) || !isRecord(context['driver']) || !isRecord(context['catalog'])) {
    throw badArgument(call, 'a DataStore', store)
  }
  checkOptions(call, options, known)
}
