import { defineIndex } from '@looseleaf/index-engine'
import { byGroup, byTag } from '@looseleaf-tooling/simulation/by-tag-and-group'

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
export type QueryRequest =
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

export function matches(request: QueryRequest, { group, tags, at }: Content): boolean {
  switch (request.index) {
    case 'by_tag':
      return request.tags.some((tag) => tags.includes(tag))
    case 'by_group': {
      if (group === null) return false
      return 'groups' in request
        ? request.groups.includes(group)
        : group >= request.between[0] && group <= request.between[1]
    }
    case 'by_group_and_time':
      return group === request.group && at === request.at
    case 'by_tag and by_group':
      return tags.includes(request.tag) && group === request.group
    case 'by_day':
      return (
        !isGrey({ tags }) && request.days.includes(dayOf(at)) && request.groups?.includes(group) !== false
      )
  }
}

/**
 * Tells whether all matching entities share one key, so that no entity moves within the order while it
 * matches.
 */
export function isOfOneKey(request: QueryRequest): boolean {
  switch (request.index) {
    case 'by_tag':
      return request.tags.length === 1
    case 'by_group':
      return 'groups' in request && request.groups.length === 1
    case 'by_group_and_time':
    case 'by_tag and by_group':
      return true
    case 'by_day':
      return request.days.length === 1 && request.groups?.length === 1
  }
}

export function textOfRequest(request: QueryRequest): string {
  switch (request.index) {
    case 'by_tag':
      return `by_tag ${request.tags.join(' or ')}`
    case 'by_group':
      return `by_group ${'groups' in request ? request.groups.join(' or ') : `from ${request.between.join(' to ')}`}`
    case 'by_group_and_time':
      return `by_group_and_time ${request.group} ${request.at}`
    case 'by_tag and by_group':
      return `by_tag ${request.tag} and by_group ${request.group}`
    case 'by_day':
      return `by_day ${request.days.join(' or ')} ${request.groups?.map((group) => group ?? 'none').join(' or ') ?? ''}`
  }
}
