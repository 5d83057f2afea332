import { badArgument, checkOptions, hasMethods, type OptionKinds } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import type { AnyKind } from './define-kind.ts'
import { indexesOf, isKind } from './indexes-of.ts'

/**
 * Throws `BAD_OPTION` unless a call that reads the whole store has a store, a list of kinds, and options that it knows. Two kinds of one name
 * are refused too, because each would take entities of the other for its own.
 */
export function checkCall<Options extends object>(
  call: string,
  store: DataStore,
  kinds: readonly AnyKind[],
  options: Options,
  known: OptionKinds<Options>,
): void {
  if (!hasMethods(store, ['scan', 'update'])) throw badArgument(call, 'a DataStore', store)
  if (!Array.isArray(kinds) || !kinds.every(isKind))
    throw badArgument(call, 'a list of kinds of defineKind', kinds)
  checkOptions(call, options, known)
  indexesOf(...kinds)
}
