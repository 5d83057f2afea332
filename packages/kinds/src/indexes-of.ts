import { badArgument, isRecord, LooseleafError } from '@looseleaf/core'
import type { IndexDefinition } from '@looseleaf/index-engine'
import type { AnyKind } from './define-kind.ts'

/**
 * All indexes of some kinds, for `indexes` of `DataStore.open`. Throws `BAD_OPTION` for two kinds of one name, former names included, and `BAD_INDEX` for
 * two indexes of one name.
 */
export function indexesOf(...kinds: readonly AnyKind[]): IndexDefinition[] {
  const known = new Map<string, AnyKind>()
  const indexes = new Map<string, IndexDefinition>()
  for (const kind of kinds) {
    if (!isRecord(kind) || !Array.isArray(kind.indexes)) {
      throw badArgument('indexesOf', 'kinds, as defineKind gives them, one after the other', kind)
    }
    for (const name of kind.shape.names) {
      const other = known.get(name)
      if (other !== undefined && other !== kind) {
        throw new LooseleafError(
          'BAD_OPTION',
          `Two kinds are called ${name}${name === kind.name && name === other.name ? '' : ', or were formerly'}: each would read and change entities of the other.`,
        )
      }
      known.set(name, kind)
    }
    for (const index of kind.indexes) {
      const same = indexes.get(index.name)
      if (same !== undefined && same !== index) {
        throw new LooseleafError(
          'BAD_INDEX',
          `Two indexes of these kinds are called ${index.name}; name one of them otherwise.`,
        )
      }
      indexes.set(index.name, index)
    }
  }
  return [...indexes.values()]
}
