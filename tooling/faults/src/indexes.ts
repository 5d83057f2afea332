import { defineIndex } from '@looseleaf/index-engine'
import { byGroup, byTag } from '@looseleaf-tooling/lab/indexes'

/**
 * Two columns and a list, stored beside the entity. The times are ones that time zones or the year 2038 could
 * distort.
 */
export const byGroupAndTime = defineIndex('by_group_and_time', {
  properties: { group: 'string', at: { type: 'time', order: 'desc' } },
  shardOn: 'id',
  include: ['tags', 'by'],
})

/**
 * A derived key, so that a write can change the value without changing the row. Entities without a group have
 * a row; grey ones have none.
 */
export const byDay = defineIndex('by_day', {
  properties: { day: { type: 'time', of: 'at', key: 'day' }, group: { type: 'string', nulls: 'last' } },
  shardOn: 'id',
  on: { grey: false },
})

export const allIndexes = [byTag, byGroup, byGroupAndTime, byDay] as const

export const TAGS = ['red', 'green', 'blue', 'grey', 'ünïcode'] as const
export const GROUPS = ['north', 'south', 'east'] as const
/** Ranges of groups, in index order. */
export const RANGES = [
  ['east', 'south'],
  ['east', 'north'],
  ['north', 'south'],
] as const
/**
 * Times before 1970, in an hour that daylight saving skips or repeats in most zones, and after the last
 * 32-bit second. Two share a day.
 */
export const TIMES = [
  '1969-12-31T23:59:59.999Z',
  '2024-03-31T01:30:00.000Z',
  '2024-03-31T22:15:00.000Z',
  '2024-10-27T01:30:00.000Z',
  '2038-01-19T03:14:08.500Z',
] as const

export const DAYS: readonly string[] = [...new Set(TIMES.map(dayOf))]

/** Returns the day in UTC, as the key function does. */
export function dayOf(time: string): string {
  return time.slice(0, 10)
}

/** Content of a write of the load, apart from its operation. */
export interface Content {
  readonly group: string | null
  readonly tags: readonly string[]
  readonly at: string
}

/** Returns a text by which a write is compared with later reads. */
export function signatureOf({ group, tags, at }: Content): string {
  return `${group ?? '-'} ${tags.join(',')} ${at}`
}

/** Tells whether the bag is grey and so excluded from the partial index. */
export function isGrey({ tags }: Pick<Content, 'tags'>): boolean {
  return tags.includes('grey')
}

/** Conditions of a query. Several values match any of them. */
export type AskedQuery =
  | { readonly index: 'by_tag'; readonly tags: readonly string[] }
  | { readonly index: 'by_group'; readonly groups: readonly string[] }
  /** Scatters over all shards; both bounds are included. */
  | { readonly index: 'by_group'; readonly between: readonly [from: string, to: string] }
  | { readonly index: 'by_group_and_time'; readonly group: string; readonly at: string }
  /** Intersection of two indexes. */
  | { readonly index: 'by_tag and by_group'; readonly tag: string; readonly group: string }
  /** Without `groups`: any group, or none (null). */
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

/**
 * Tells whether all matching entities share one key, so that no entity moves within the order while it
 * matches.
 */
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
