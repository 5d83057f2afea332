import { LooseleafError } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'

/**
 * Returns the newest generation of an index that can be queried, or else its newest generation. Throws `INDEX_NOT_FOUND`
 * with the names of the store's indexes.
 */
export function findIndex(store: DataStore, name: string): CatalogEntry {
  const { indexes, silent } = store.context.catalog.current()
  const generations = indexes
    .filter((entry) => entry.name === name && !entry.unique)
    .toSorted((a, b) => b.generation - a.generation)
  const found = generations.find(({ state, hidden }) => state === 'ready' && !hidden) ?? generations[0]
  if (found !== undefined) return found
  // The catalog of a silent shard may have the index.
  if (silent[0] !== undefined) throw silent[0]
  throw noIndex(name, indexes)
}

export function noIndex(name: string, indexes: readonly Pick<CatalogEntry, 'name'>[]): LooseleafError {
  const names = [...new Set(indexes.map((entry) => entry.name))]
  return new LooseleafError(
    'INDEX_NOT_FOUND',
    `The store has no index ${JSON.stringify(name)}; it has ${names.join(', ') || 'none'}.`,
  )
}
