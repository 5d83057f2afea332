import { LooseleafError } from '@looseleaf/core'
import { isClaimsOf, isInUse, type IndexDefinition } from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'

/**
 * A look before every write at whether the store has the unique indexes of a kind: without one two entities may get one key, and
 * nothing would say so. Throws `INDEX_NOT_FOUND`.
 */
export function createUniqueCheck(store: DataStore, definitions: readonly IndexDefinition[]): () => void {
  const unique = definitions.filter((definition) => definition.unique)
  let checked: readonly unknown[] | undefined
  return () => {
    const { indexes } = store.context.catalog.current()
    if (unique.length === 0 || indexes === checked) return
    for (const definition of unique) {
      if (indexes.some((entry) => isInUse(entry) && isClaimsOf(entry, definition))) continue
      throw new LooseleafError(
        'INDEX_NOT_FOUND',
        `The store has no unique index ${definition.name}, so nothing was written. Open it with \`indexes: indexesOf(…)\` and \`migrate: true\`, or add it with \`store.addIndex\`.`,
        { index: definition.name },
      )
    }
    checked = indexes
  }
}
