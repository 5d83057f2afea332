import type { IndexDefinition } from '@looseleaf/index-engine'
import type { AnyKind } from './define-kind.ts'

/** All indexes of some kinds, for `indexes` of `DataStore.open`. */
export function indexesOf(...kinds: readonly AnyKind[]): IndexDefinition[] {
  return kinds.flatMap(({ indexes }) => indexes)
}
