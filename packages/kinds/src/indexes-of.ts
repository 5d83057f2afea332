import { badOption, badArgument, isRecord } from '@looseleaf/core/internal'
import type { IndexDefinition } from '@looseleaf/index-engine'
import { badIndex } from './bad-index.ts'
import type { AnyKind } from './define-kind.ts'

/**
 * Returns all indexes of some kinds, for `indexes` of `DataStore.open`. Throws `BAD_OPTION` for two kinds with the same name, former names
 * included, and `BAD_INDEX` for two indexes with the same name.
 */
export function indexesOf(...kinds: readonly AnyKind[]): IndexDefinition[] {
  const known = new Map<string, AnyKind>()
  const indexes = new Map<string, IndexDefinition>()
  for (const kind of kinds) {
    if (!isKind(kind)) throw badArgument('indexesOf', 'kinds of defineKind as its arguments', kind)
    for (const name of kind.shape.names) {
      const other = known.get(name)
      if (other !== undefined && other !== kind) {
        throw badOption(
          `Two kinds have the name ${name}${name === kind.name && name === other.name ? '' : ', or had it formerly'}: each would read and change entities of the other.`,
        )
      }
      known.set(name, kind)
    }
    for (const index of kind.indexes) {
      const same = indexes.get(index.name)
      if (same !== undefined && same !== index) {
        throw badIndex(`Two indexes of these kinds have the name ${index.name}; rename one of them.`)
      }
      indexes.set(index.name, index)
    }
  }
  return [...indexes.values()]
}

export function isKind(value: unknown): value is AnyKind {
  return isRecord(value) && isRecord(value['shape']) && Array.isArray(value['indexes'])
}
