import { defineIndex } from '@looseleaf/index-engine'
import { byGroup, byTag } from '@looseleaf-tooling/lab/indexes'

/** Two columns and a list, kept beside the entity; the time is one that zones and the year 2038 could bend. */
export const byGroupAndTime = defineIndex('by_group_and_time', {
  properties: { group: 'string', at: { type: 'time', order: 'desc' } },
  shardOn: 'id',
  include: ['tags', 'by'],
})

/** A key that is derived, so that writes change the value and leave the row; a row for what is in no group; and what is grey has none. */
export const byDay = defineIndex('by_day', {
  properties: { day: { type: 'time', of: 'at', key: 'day' }, group: { type: 'string', nulls: 'last' } },
  shardOn: 'id',
  on: { grey: false },
})

export const allIndexes = [byTag, byGroup, byGroupAndTime, byDay] as const

export const TAGS = ['red', 'green', 'blue', 'grey', 'ünïcode'] as const
export const GROUPS = ['north', 'south', 'east'] as const
/** Of groups, by their order in an index. */
export const RANGES = [
  ['east', 'south'],
  ['east', 'north'],
  ['north', 'south'],
] as const
/** Before 1970, in the hour that summer time skips or repeats in most zones, after the last 32-bit second; two of one day. */
export const TIMES = [
  '1969-12-31T23:59:59.999Z',
  '2024-03-31T01:30:00.000Z',
  '2024-03-31T22:15:00.000Z',
  '2024-10-27T01:30:00.000Z',
  '2038-01-19T03:14:08.500Z',
] as const

export const DAYS: readonly string[] = [...new Set(TIMES.map(dayOf))]

/** As a key function has it: in UTC. */
export function dayOf(time: string): string {
  return time.slice(0, 10)
}

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

/** What a bag says of itself for the index that is not of grey ones. */
export function isGrey({ tags }: Pick<Content, 'tags'>): boolean {
  return tags.includes('grey')
}

/** What a query asked for. Of several values, any will do. */
export type AskedQuery =
  | { readonly index: 'by_tag'; readonly tags: readonly string[] }
  | { readonly index: 'by_group'; readonly groups: readonly string[] }
  /** Of all shards; both bounds are in it. */
  | { readonly index: 'by_group'; readonly between: readonly [from: string, to: string] }
  | { readonly index: 'by_group_and_time'; readonly group: string; readonly at: string }
  /** What both indexes have. */
  | { readonly index: 'by_tag and by_group'; readonly tag: string; readonly group: string }
  /** Without groups: in whatever group, or in none, which is null. */
  | {
      readonly index: 'by_day'
      readonly days: readonly string[]
      readonly groups?: readonly (string | null)[] | undefined
    }

export function matches(asked: AskedQuery, { group, tags, at }: Content): boolean {
  switch (asked.index) {
    case 'by_tag':
      return asked.tags.some((tag) => tags.includes(tag))
    case 'by_group': {
      if (group === null) return false
      return 'groups' in asked
        ? asked.groups.includes(group)
        : group >= asked.between[0] && group <= asked.between[1]
    }
    case 'by_group_and_time':
      return group === asked.group && at === asked.at
    case 'by_tag and by_group':
      return tags.includes(asked.tag) && group === asked.group
    case 'by_day':
      return !isGrey({ tags }) && asked.days.includes(dayOf(at)) && asked.groups?.includes(group) !== false
  }
}

/** Whether all that matches has one key, so that nothing that matches all the time moves within the order. */
export function isOfOneKey(asked: AskedQuery): boolean {
  switch (asked.index) {
    case 'by_tag':
      return asked.tags.length === 1
    case 'by_group':
      return 'groups' in asked && asked.groups.length === 1
    case 'by_group_and_time':
    case 'by_tag and by_group':
      return true
    case 'by_day':
      return asked.days.length === 1 && asked.groups?.length === 1
  }
}

export function textOfAsked(asked: AskedQuery): string {
  switch (asked.index) {
    case 'by_tag':
      return `by_tag ${asked.tags.join(' or ')}`
    case 'by_group':
      return `by_group ${'groups' in asked ? asked.groups.join(' or ') : `from ${asked.between.join(' to ')}`}`
    case 'by_group_and_time':
      return `by_group_and_time ${asked.group} ${asked.at}`
    case 'by_tag and by_group':
      return `by_tag ${asked.tag} and by_group ${asked.group}`
    case 'by_day':
      return `by_day ${asked.days.join(' or ')} ${asked.groups?.map((group) => group ?? 'none').join(' or ') ?? ''}`
  }
}
