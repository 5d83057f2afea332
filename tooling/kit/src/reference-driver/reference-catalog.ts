import type { CatalogTable, HeldState, ShardCatalog } from '@looseleaf/core/internal'

export interface ReferenceCatalog {
  readonly table: CatalogTable
  /** Returns the current catalog; undefined before the first one. */
  current(): ShardCatalog | undefined
  /** Replaces the catalog, like a failover to a lagging replica. */
  restore(catalog: ShardCatalog | undefined): void
}

/** `holds` tells whether the shard has a state. */
export function createReferenceCatalog(holds: (state: HeldState) => boolean): ReferenceCatalog {
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
      async change(catalog, from, { holding } = {}) {
        if (current?.epoch !== from || (holding !== undefined && !holds(holding))) return false
        current = structuredClone(catalog)
        return true
      },
    },
  }
}
