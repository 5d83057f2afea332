import type { IndexDefinitionData } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { predicateText, propertyText } from '@looseleaf/index-engine/internal'
import { markup, type Html } from '../kit/html.ts'

/** Returns a text such as `published time desc, tags string[]`. */
export function columnsText({ properties }: Pick<IndexDefinitionData, 'properties'>): string {
  return properties.map(propertyText).join(', ')
}

export function stateText({ state, hidden, paused }: CatalogEntry): string {
  return [state, ...(hidden ? ['hidden'] : []), ...(paused ? ['paused'] : [])].join(', ')
}

export function definitionFacts(definition: IndexDefinitionData): Html {
  const { shardOn, on, include, unique } = definition
  return markup`<dt>columns</dt><dd>${columnsText(definition)}</dd>
<dt>row location</dt><dd>${shardOn === 'id' ? 'on the shard of their entity' : `on the shard of their ${shardOn}`}</dd>
${on === undefined ? undefined : markup`<dt>only for</dt><dd>${predicateText(on)}</dd>`}
${include === undefined ? undefined : markup`<dt>includes</dt><dd>${include.join(', ')}</dd>`}
${unique ? markup`<dt>unique</dt><dd>one row per key names the entity that holds it</dd>` : undefined}`
}
