import type { IndexDefinition } from '@looseleaf/index-engine'
import type { Kind } from './define-kind.ts'

/** All indexes of some kinds, for `indexes` of `DataStore.open`. */
export function indexesOf(...kinds: readonly Pick<Kind, 'indexes'>[]): IndexDefinition[] {
  return kinds.flatMap(({ indexes }) => indexes)
}
