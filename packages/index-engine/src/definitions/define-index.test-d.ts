import type { Bag, Entity, EntityId, PropertyValue } from '@looseleaf/core'
import { expectTypeOf } from 'vitest'
import {
  defineIndex,
  defineKey,
  type IndexDefinition,
  type IndexedEntity,
  type IndexProperties,
  type Where,
} from '../index.ts'
import type { GetAllOptions, IndexReader } from '../internal.ts'

const entriesByUser = defineIndex('entries_by_user', {
  properties: { user_id: 'uuid', published: 'time' },
  shardOn: 'user_id',
})
const entriesByTag = defineIndex('entries_by_tag', {
  properties: { tags: 'string[]', score: 'number', likes: 'integer', open: 'boolean' },
  shardOn: 'id',
  onMisfit: 'skip',
})

// A definition keeps the types of its options.
expectTypeOf(entriesByUser).toExtend<IndexDefinition<{ user_id: 'uuid'; published: 'time' }>>()
expectTypeOf(entriesByUser.types.published).toEqualTypeOf<'time'>()

// A list of indexes takes definitions with any properties.
expectTypeOf([entriesByUser, entriesByTag]).toExtend<readonly IndexDefinition[]>()
const indexes: readonly IndexDefinition[] = [entriesByUser, entriesByTag]
expectTypeOf(indexes).toExtend<readonly IndexDefinition<IndexProperties>[]>()

// @ts-expect-error shardOn names a property of the index, or 'id'
defineIndex('a', { properties: { user_id: 'uuid' }, shardOn: 'published' })
// @ts-expect-error 'text' is no type
defineIndex('a', { properties: { user_id: 'text' }, shardOn: 'user_id' })
// @ts-expect-error 'ignore' is no value of onMisfit
defineIndex('a', { properties: { user_id: 'uuid' }, shardOn: 'user_id', onMisfit: 'ignore' })
// @ts-expect-error a Date is no value of on
defineIndex('a', { properties: { user_id: 'uuid' }, shardOn: 'user_id', on: { at: new Date(0) } })
// @ts-expect-error shardOn is required
defineIndex('a', { properties: { user_id: 'uuid' } })

declare function query<P extends IndexProperties>(
  index: IndexDefinition<P>,
  where: Where<P>,
): IndexedEntity<P>
const now = new Date()

// Values and ranges have the type of their property, or of an element of an array.
query(entriesByUser, {})
query(entriesByUser, { user_id: '' })
query(entriesByUser, { user_id: '', published: now })
query(entriesByUser, { user_id: '', published: { gte: now } })
query(entriesByUser, { user_id: '', published: { gt: now, lte: now } })
query(entriesByTag, { tags: 'x', score: 1, likes: 1n, open: true })
query(entriesByTag, { tags: 'x', score: 1, likes: { lt: 5 } })
// Strings may have a beginning; other types a value or a range.
query(entriesByTag, { tags: { startsWith: 'x' } })
// A list may replace a value, also before a range and for elements of an array.
query(entriesByUser, { user_id: { in: ['', ''] }, published: { gte: now } })
query(entriesByUser, { user_id: '', published: { in: [now] as const } })
query(entriesByTag, { tags: { in: ['x'] }, score: { in: [1] }, likes: { in: [1, 2n] }, open: { in: [true] } })
// @ts-expect-error a Date is not a UUID in a list either
query(entriesByUser, { user_id: { in: [now] } })
// @ts-expect-error a list is an array
query(entriesByUser, { user_id: { in: 'x' } })
// @ts-expect-error a list takes no undefined
query(entriesByUser, { user_id: { in: [undefined] } })
// @ts-expect-error a list excludes bounds
query(entriesByUser, { user_id: { in: [''], gt: '' } })
// @ts-expect-error a list excludes startsWith
query(entriesByTag, { tags: { in: ['x'], startsWith: 'x' } })
// @ts-expect-error a UUID has no startsWith
query(entriesByUser, { user_id: { startsWith: 'x' } })
// @ts-expect-error startsWith excludes bounds
query(entriesByTag, { tags: { startsWith: 'x', lt: 'y' } })

// A path can be queried, and has no type in the bag.
const byAuthor = defineIndex('by_author', {
  properties: { 'author.id': 'uuid', open: 'boolean' },
  shardOn: 'author.id',
})
expectTypeOf(query(byAuthor, { 'author.id': '', open: true }).open).toEqualTypeOf<boolean>()
expectTypeOf(query(byAuthor, { 'author.id': '' })['author.id']).toEqualTypeOf<PropertyValue | undefined>()

// A property with `of` is not typed in the bag. A property with `nulls` may be absent.
const byHost = defineIndex('by_host', {
  properties: {
    host: { type: 'string', of: 'link', key: 'host' },
    due: { type: 'time', nulls: 'last' },
    tags: { type: 'string[]', key: 'prefix(3)', nulls: 'first' },
    title: { type: 'string', key: 'lower' },
  },
  shardOn: 'host',
})
query(byHost, { host: 'a', due: null, tags: null })
query(byHost, { host: 'a', due: { gte: now } })
expectTypeOf(query(byHost, {}).due).toEqualTypeOf<Date | null | undefined>()
expectTypeOf(query(byHost, {}).tags).toEqualTypeOf<readonly PropertyValue[] | null | undefined>()
expectTypeOf(query(byHost, {}).title).toEqualTypeOf<string>()
expectTypeOf(query(byHost, {})['host']).toEqualTypeOf<PropertyValue | undefined>()
// @ts-expect-error host has no nulls, so null has no row
query(byHost, { host: null })
// @ts-expect-error null has no order
query(byHost, { host: 'a', due: { gte: null } })
// A descending property has the same types in queries and results.
const bestFirst = defineIndex('best_first', {
  properties: { user_id: 'uuid', score: { type: 'integer', order: 'desc' }, published: 'time' },
  shardOn: 'user_id',
})
query(bestFirst, { user_id: '', score: { gte: 5 } })
expectTypeOf(query(bestFirst, {}).score).toEqualTypeOf<number | bigint>()
defineIndex('a', { properties: { s: { type: 'string', order: 'asc' } }, shardOn: 's' })
// @ts-expect-error 'down' is no order
defineIndex('a', { properties: { s: { type: 'string', order: 'down' } }, shardOn: 's' })
// @ts-expect-error 'upper' is no key
defineIndex('a', { properties: { s: { type: 'string', key: 'upper' } }, shardOn: 's' })

// @ts-expect-error a Date is not a UUID
query(entriesByUser, { user_id: now })
// @ts-expect-error a string is not a Date
query(entriesByUser, { user_id: '', published: '2009-02-27' })
// @ts-expect-error the index has no property user
query(entriesByUser, { user: '' })
// @ts-expect-error an array property takes an element
query(entriesByTag, { tags: ['x'] })
// @ts-expect-error a range needs a bound
query(entriesByUser, { user_id: '', published: {} })
// @ts-expect-error a range has one lower bound
query(entriesByUser, { user_id: '', published: { gt: now, gte: now } })
// @ts-expect-error undefined would select everything
query(entriesByUser, { user_id: undefined })
// @ts-expect-error a number property takes no bigint
query(entriesByTag, { tags: 'x', score: 1n })

// A result has the indexed properties, and any others.
const entry = query(entriesByUser, {})
expectTypeOf(entry.id).toEqualTypeOf<EntityId>()
expectTypeOf(entry.user_id).toExtend<string>()
expectTypeOf(entry.published).toExtend<Date>()
expectTypeOf(entry['title']).toEqualTypeOf<PropertyValue | undefined>()
expectTypeOf(entry).toExtend<Entity>()
const tagged = query(entriesByTag, {})
expectTypeOf(tagged.tags).toExtend<readonly PropertyValue[]>()
expectTypeOf(tagged.likes).toExtend<number | bigint>()
expectTypeOf<IndexedEntity>().toEqualTypeOf<{ readonly id: EntityId } & Bag>()

// getAll of a definition has the types of the store's; a plain store satisfies the interface.
declare const store: {
  getAll<const P extends IndexProperties>(
    index: IndexDefinition<P>,
    where: Where<P>,
    options?: GetAllOptions,
  ): Promise<IndexedEntity<P>[]>
  close(): Promise<void>
}
expectTypeOf(store).toExtend<IndexReader>()
expectTypeOf(entriesByUser.getAll(store, { user_id: '' })).resolves.items.toExtend<{
  readonly published: Date
}>()
// @ts-expect-error getAll checks the types of values
void entriesByUser.getAll(store, { user_id: 1 })

// The keys of a function have the type `to`.
defineKey({ name: 'half', version: 1, from: 'integer', derive: (n: number) => n / 2 })
defineKey({ name: 'text', version: 1, from: 'integer', to: 'string', derive: (n) => String(n) })
defineKey({ name: 'some', version: 1, from: 'string', derive: (text) => (text === '' ? undefined : text) })
// @ts-expect-error a string is no integer
defineKey({ name: 'text', version: 1, from: 'integer', derive: (n: number) => String(n) })
// @ts-expect-error an integer is no Date
defineKey({ name: 'year', version: 1, from: 'integer', derive: (time: Date) => time.getFullYear() })
// @ts-expect-error derive is not async
defineKey({ name: 'later', version: 1, from: 'string', derive: async (text: string) => text })
