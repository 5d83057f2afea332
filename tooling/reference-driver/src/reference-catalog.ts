import type { CatalogTable, ShardCatalog } from '@looseleaf/core'

export interface ReferenceCatalog {
  readonly table: CatalogTable
  /** The catalog at this moment; undefined before there is one. */
  current(): ShardCatalog | undefined
  /** Puts a catalog in place of the one that is there, as a failover to a replica that lags does. */
  restore(catalog: ShardCatalog | undefined): void
}

export function createReferenceCatalog(): ReferenceCatalog {
  let current: ShardCatalog | undefined
  return {
    current: () => current,
    restore: (before) => void (current = before),
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
