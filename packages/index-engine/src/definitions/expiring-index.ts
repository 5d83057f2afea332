import type { IndexDefinitionData } from '@looseleaf/core'

/** Tells whether cleaners delete entities by an index: its only property is the time of `expires`, and `shardOn` is 'id'. */
export function isExpiring({ expires, shardOn, properties }: IndexDefinitionData): boolean {
  const [property, ...others] = properties
  if (expires === undefined || property === undefined || others.length > 0 || shardOn !== 'id') return false
  const { name, of = name, type, many, key, order, nulls } = property
  const isPlain = !many && key === undefined && order === undefined && nulls === undefined
  return of === expires && type === 'time' && isPlain
}
