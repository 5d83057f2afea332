import type { CatalogTable, ShardCatalog } from '@looseleaf/core'

export function createReferenceCatalog(): { readonly table: CatalogTable; epoch(): number | undefined } {
  let current: ShardCatalog | undefined
  return {
    epoch: () => current?.epoch,
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
