import type { IndexDefinitionData } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'

/** Returns a text such as `published time desc, tags string[]`. */
export function columnsText({ properties }: CatalogEntry): string {
  return properties
    .map(
      ({ name, type, many, order }) => `${name} ${type}${many ? '[]' : ''}${order === 'desc' ? ' desc' : ''}`,
    )
    .join(', ')
}

/** Returns a text such as `_kind = entry`; empty for an index of all entities. */
export function onText({ on = {} }: Pick<IndexDefinitionData, 'on'>): string {
  return Object.entries(on)
    .map(([name, value]) =>
      typeof value === 'object' ? `${name} in (${value.join(', ')})` : `${name} = ${value}`,
    )
    .join(' and ')
}

export function stateText({ state, hidden, paused }: CatalogEntry): string {
  return [state, ...(hidden ? ['hidden'] : []), ...(paused ? ['paused'] : [])].join(', ')
}
