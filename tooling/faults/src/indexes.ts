import { defineIndex } from '@looseleaf/index-engine'

/** A row per tag, each on the shard of its tag: a write gains and loses several rows on all shards. */
export const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })

/** One row per entity, which moves between the shards. */
export const byGroup = defineIndex('by_group', { properties: { group: 'string' }, shardOn: 'group' })

/** Two columns, kept beside the entity; the time is one that zones and the year 2038 could bend. */
export const byGroupAndTime = defineIndex('by_group_and_time', {
  properties: { group: 'string', at: 'time' },
  shardOn: 'id',
})

export const allIndexes = [byTag, byGroup, byGroupAndTime] as const

export const TAGS = ['red', 'green', 'blue', 'grey', 'ünïcode'] as const
export const GROUPS = ['north', 'south', 'east'] as const
/** Of groups, by their order in an index. */
export const RANGES = [
  ['east', 'south'],
  ['east', 'north'],
  ['north', 'south'],
] as const
/** Before 1970, in the hour that summer time skips or repeats in most zones, and after the last 32-bit second. */
export const TIMES = [
  '1969-12-31T23:59:59.999Z',
  '2024-03-31T01:30:00.000Z',
  '2024-10-27T01:30:00.000Z',
  '2038-01-19T03:14:08.500Z',
] as const

/** What a write of the load says, besides who it is. */
export interface Content {
  readonly group: string | null
  readonly tags: readonly string[]
  readonly at: string
}

/** What is compared between a write and whoever sees it later. */
export function signatureOf({ group, tags, at }: Content): string {
  return `${group ?? '-'} ${tags.join(',')} ${at}`
}

/** What a query asked for. */
export type Asked =
  | { readonly index: 'by_tag'; readonly tag: string }
  | { readonly index: 'by_group'; readonly group: string }
  /** Of all shards; both bounds are in it. */
  | { readonly index: 'by_group'; readonly between: readonly [from: string, to: string] }
  | { readonly index: 'by_group_and_time'; readonly group: string; readonly at: string }

export function matches(asked: Asked, content: Content): boolean {
  if (asked.index === 'by_tag') return content.tags.includes(asked.tag)
  if ('between' in asked) {
    const [from, to] = asked.between
    return content.group !== null && content.group >= from && content.group <= to
  }
  if (asked.index === 'by_group') return content.group === asked.group
  return content.group === asked.group && content.at === asked.at
}

export function textOfAsked(asked: Asked): string {
  if (asked.index === 'by_tag') return `by_tag ${asked.tag}`
  if ('between' in asked) return `by_group from ${asked.between.join(' to ')}`
  if (asked.index === 'by_group') return `by_group ${asked.group}`
  return `by_group_and_time ${asked.group} ${asked.at}`
}
