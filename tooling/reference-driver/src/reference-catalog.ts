import type { CatalogTable, ShardCatalog } from '@looseleaf/core'

export interface ReferenceCatalog {
  readonly table: CatalogTable
  /** The catalog at this moment; undefined before there is one. */
  current(): ShardCatalog | undefined
}

export function createReferenceCatalog(): ReferenceCatalog {
  let current: ShardCatalog | undefined
  return {
    current: () => current,
    table: {
      load: async () => current,
      async init(catalog) {
        if (current !== undefined) return false
        current = structuredClone(catalog)
        return true
      },
      async change(catalog, from) {
        if (current?.epoch !== from) return false
        current = structuredClone(catalog)
        return true
      },
    },
  }
}
