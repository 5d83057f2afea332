import type { CatalogEntry, IndexState } from '@looseleaf/core/internal'

/** Returns a generation of an index of links in this state. */
export function linkIndex(state: IndexState, generation = 1): CatalogEntry {
  return {
    name: 'by_link',
    properties: [{ name: 'link', type: 'string', many: false }],
    shardOn: 'link',
    onMisfit: 'refuse',
    generation,
    table: `index_by_link_${generation}`,
    state,
  }
}
