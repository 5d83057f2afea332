import { defineIndex, parseId, type IndexDefinition } from 'looseleaf'
import type { Entry } from './entry.ts'

/** A value of a key, as its column stores it. */
export type KeyValue = Uint8Array | number

/** An index of the workload: Looseleaf's definition, and facts for sides that write index rows themselves. */
export interface BenchIndex {
  readonly definition: IndexDefinition
  readonly table: string
  /** Table of the claims; only for a unique index. */
  readonly claims?: string
  readonly columns: readonly string[]
  /** Returns the key of each index row of an entry. */
  keysOf(entry: Entry): readonly (readonly KeyValue[])[]
  /** Type of the first column, which decides the shard of a row; 'id' if rows are on their entity's shard. */
  readonly shardOn: 'id' | 'uuid' | 'text'
  /** The index on a table with a JSON column: generated columns with their types, and the key over them. */
  readonly json?: { readonly columns: Readonly<Record<string, string>>; readonly key: readonly string[] }
  /** Properties that a covering index stores beside the key. */
  readonly include?: readonly string[]
}

export const micros = (time: Date): number => time.getTime() * 1000
export const textKey = (text: string): Uint8Array => Buffer.from(text)

const userColumn = { user_id: 'CHAR(36) CHARACTER SET ascii' }
const publishedColumn = { published: 'CHAR(24) CHARACTER SET ascii' }

/** A user's entries by time. A row is on the shard of its user, which often differs from the entry's. */
export const byUser = defineIndex('entries_by_user', {
  properties: { user_id: 'uuid', published: 'time' },
  shardOn: 'user_id',
})
/** The same, covering the properties of a list. */
export const listByUser = defineIndex('entries_listed', {
  properties: { user_id: 'uuid', published: 'time' },
  shardOn: 'user_id',
  include: ['title', 'link'],
})
/** Entries that share a link. No scenario reads it; it makes an insert write a second index row. */
const byLink = defineIndex('entries_by_link', { properties: { link: 'string' }, shardOn: 'link' })
export const byTag = defineIndex('entries_by_tag', {
  properties: { tags: 'string[]', published: 'time' },
  shardOn: 'tags',
})
/** Entries of all users by time. Rows are on the shard of their entry. */
export const byTime = defineIndex('entries_by_time', { properties: { published: 'time' }, shardOn: 'id' })
/** The jobs of a stripe by the time from which they are due. */
export const byDue = defineIndex('jobs_by_due', {
  properties: { stripe: 'string', due: 'time' },
  shardOn: 'stripe',
  near: true,
})
const byHandle = defineIndex('entries_by_handle', {
  properties: { handle: 'string' },
  shardOn: 'handle',
  unique: true,
})

function benchIndex(
  definition: IndexDefinition,
  rest: Omit<BenchIndex, 'definition' | 'table' | 'columns'>,
): BenchIndex {
  return {
    definition,
    table: `index_${definition.name}`,
    columns: definition.properties.map(({ name }) => name),
    ...rest,
  }
}

const userKeys = (entry: Entry): KeyValue[][] => [[parseId(entry.user_id), micros(entry.published)]]

export const benchIndexes = {
  user: benchIndex(byUser, {
    keysOf: userKeys,
    shardOn: 'uuid',
    json: { columns: { ...userColumn, ...publishedColumn }, key: ['user_id', 'published'] },
  }),
  list: benchIndex(listByUser, {
    keysOf: userKeys,
    shardOn: 'uuid',
    include: ['title', 'link'],
    json: {
      columns: { ...userColumn, ...publishedColumn, title: 'VARCHAR(200)', link: 'VARCHAR(200)' },
      // The key is in the order of a page and covers all selected columns, so a list reads this key alone.
      key: ['user_id', 'published', 'id', 'title', 'link'],
    },
  }),
  link: benchIndex(byLink, {
    keysOf: (entry) => [[textKey(entry.link)]],
    shardOn: 'text',
    json: { columns: { link: 'VARCHAR(200)' }, key: ['link'] },
  }),
  tag: benchIndex(byTag, {
    keysOf: (entry) =>
      ((entry['tags'] as string[] | undefined) ?? []).map((text) => [textKey(text), micros(entry.published)]),
    shardOn: 'text',
  }),
  time: benchIndex(byTime, {
    keysOf: (entry) => [[micros(entry.published)]],
    shardOn: 'id',
    json: { columns: publishedColumn, key: ['published'] },
  }),
  handle: benchIndex(byHandle, {
    keysOf: (entry) => [[textKey(entry['handle'] as string)]],
    shardOn: 'text',
    claims: `claims_${byHandle.name}`,
  }),
  due: benchIndex(byDue, {
    keysOf: (entry) => [[textKey(entry['stripe'] as string), micros(entry['due'] as Date)]],
    shardOn: 'text',
    json: {
      columns: { stripe: 'VARCHAR(40)', due: 'CHAR(24) CHARACTER SET ascii' },
      key: ['stripe', 'due'],
    },
  }),
} satisfies Record<string, BenchIndex>

function extraIndex(number: number): BenchIndex {
  const property = `p${number}`
  const definition = defineIndex(`by_${property}`, {
    properties: { [property]: 'string' },
    shardOn: property,
  })
  return benchIndex(definition, {
    keysOf: (entry) => [[textKey(entry[property] as string)]],
    shardOn: 'text',
    json: { columns: { [property]: 'VARCHAR(40)' }, key: [property] },
  })
}

/** Names of index sets. */
export const layoutNames = [
  'entries',
  'site',
  'unique',
  'near',
  'nearList',
  'queue',
  'wholeQueue',
  '0',
  '2',
  '4',
  '8',
] as const
export type LayoutName = (typeof layoutNames)[number]

/**
 * Returns the indexes of a layout. Most scenarios use `entries`; `site` has the indexes for pages of a site, and `unique` a unique one. In
 * `near` and `nearList` entries have the place of their user, and in `queue` and `wholeQueue` that of their stripe, so all index rows are near. A
 * number stands for that many indexes, each over one string property.
 */
export function indexesOf(layout: LayoutName): readonly BenchIndex[] {
  const { user, list, link, tag, time, handle, due } = benchIndexes
  if (layout === 'entries') return [user, link]
  if (layout === 'site') return [user, list, tag, time]
  if (layout === 'unique') return [handle]
  if (layout === 'near') return [user]
  if (layout === 'nearList') return [list]
  if (isQueue(layout)) return [due]
  return Array.from({ length: extrasOf(layout) }, (_, number) => extraIndex(number))
}

export const isQueue = (layout: LayoutName): boolean => layout === 'queue' || layout === 'wholeQueue'

export function extrasOf(layout: LayoutName): number {
  const number = Number(layout)
  return Number.isNaN(number) ? 0 : number
}
