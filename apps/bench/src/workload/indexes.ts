import { defineIndex, parseId, type IndexDefinition } from 'looseleaf'
import type { Entry } from './entry.ts'

/** A value of a key as its column holds it. */
export type KeyValue = Uint8Array | number

/** An index of the workload: as Looseleaf is told of it, and what those need who write its rows themselves. */
export interface BenchIndex {
  readonly definition: IndexDefinition
  readonly table: string
  /** Of a unique index: the table that has one row for each key. */
  readonly claims?: string
  readonly columns: readonly string[]
  /** The key of each row that an entry has. */
  keysOf(entry: Entry): readonly (readonly KeyValue[])[]
  /** Which of `columns` says on which shard a row stands; 'id': on that of its entity. */
  readonly shardOn: 'id' | 'uuid' | 'text'
  /** For a table with a JSON column: generated columns, with their types, and the key over them. */
  readonly json?: { readonly columns: Readonly<Record<string, string>>; readonly key: readonly string[] }
  /** The properties that rows hold beside their key. */
  readonly include?: readonly string[]
}

export const micros = (time: Date): number => time.getTime() * 1000
export const textKey = (text: string): Uint8Array => Buffer.from(text)

const userColumn = { user_id: 'CHAR(36) CHARACTER SET ascii' }
const publishedColumn = { published: 'CHAR(24) CHARACTER SET ascii' }

/** A user's entries by time. A row stands on its user's shard, mostly another one than the entry's own. */
export const byUser = defineIndex('entries_by_user', {
  properties: { user_id: 'uuid', published: 'time' },
  shardOn: 'user_id',
})
/** The same, with what a list shows. */
export const listByUser = defineIndex('entries_listed', {
  properties: { user_id: 'uuid', published: 'time' },
  shardOn: 'user_id',
  include: ['title', 'link'],
})
/** Who shared this link? Written with each entry and read by no scenario: it is the third statement of an insert. */
const byLink = defineIndex('entries_by_link', { properties: { link: 'string' }, shardOn: 'link' })
export const byTag = defineIndex('entries_by_tag', {
  properties: { tags: 'string[]', published: 'time' },
  shardOn: 'tags',
})
/** Entries of all users by time, on their own shards. */
export const byTime = defineIndex('entries_by_time', { properties: { published: 'time' }, shardOn: 'id' })
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
      // In the order of a page, so that it is read from the key alone.
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

/** Which indexes a data set has. */
export const layoutNames = ['entries', 'site', 'unique', '0', '2', '4', '8'] as const
export type LayoutName = (typeof layoutNames)[number]

/** `entries`: what most is measured with. `site`: what a page of a site asks for. A number: so many of one string property each. */
export function indexesOf(layout: LayoutName): readonly BenchIndex[] {
  const { user, list, link, tag, time, handle } = benchIndexes
  if (layout === 'entries') return [user, link]
  if (layout === 'site') return [user, list, tag, time]
  if (layout === 'unique') return [handle]
  return Array.from({ length: extrasOf(layout) }, (_, number) => extraIndex(number))
}

export function extrasOf(layout: LayoutName): number {
  const number = Number(layout)
  return Number.isNaN(number) ? 0 : number
}
