import type { Bag, Entity, EntityId, PropertyValue } from '@looseleaf/core'
import { expectTypeOf } from 'vitest'
import {
  defineIndex,
  defineKey,
  type GetAllOptions,
  type IndexDefinition,
  type IndexedEntity,
  type IndexProperties,
  type IndexReader,
  type Where,
} from './index.ts'

const entriesByUser = defineIndex('entries_by_user', {
  properties: { user_id: 'uuid', published: 'time' },
  shardOn: 'user_id',
})
const entriesByTag = defineIndex('entries_by_tag', {
  properties: { tags: 'string[]', score: 'number', likes: 'integer', open: 'boolean' },
  shardOn: 'id',
  onMisfit: 'skip',
})

// The types are kept as they were written.
expectTypeOf(entriesByUser).toExtend<IndexDefinition<{ user_id: 'uuid'; published: 'time' }>>()
expectTypeOf(entriesByUser.types.published).toEqualTypeOf<'time'>()

// Definitions of any properties go where a store takes indexes.
expectTypeOf([entriesByUser, entriesByTag]).toExtend<readonly IndexDefinition[]>()
const indexes: readonly IndexDefinition[] = [entriesByUser, entriesByTag]
expectTypeOf(indexes).toExtend<readonly IndexDefinition<IndexProperties>[]>()

// @ts-expect-error shardOn names a property of the index, or 'id'
defineIndex('a', { properties: { user_id: 'uuid' }, shardOn: 'published' })
// @ts-expect-error there is no such type
defineIndex('a', { properties: { user_id: 'text' }, shardOn: 'user_id' })
// @ts-expect-error nor such a way with misfits
defineIndex('a', { properties: { user_id: 'uuid' }, shardOn: 'user_id', onMisfit: 'ignore' })
// @ts-expect-error nor an index of the entities of a time
defineIndex('a', { properties: { user_id: 'uuid' }, shardOn: 'user_id', on: { at: new Date(0) } })
// @ts-expect-error shardOn has to be decided
defineIndex('a', { properties: { user_id: 'uuid' } })

declare function ask<P extends IndexProperties>(index: IndexDefinition<P>, where: Where<P>): IndexedEntity<P>
const now = new Date()

// Values and ranges have the type of their property; an array is asked for by element.
ask(entriesByUser, {})
ask(entriesByUser, { user_id: '' })
ask(entriesByUser, { user_id: '', published: now })
ask(entriesByUser, { user_id: '', published: { gte: now } })
ask(entriesByUser, { user_id: '', published: { gt: now, lte: now } })
ask(entriesByTag, { tags: 'x', score: 1, likes: 1n, open: true })
ask(entriesByTag, { tags: 'x', score: 1, likes: { lt: 5 } })
// Strings may be asked for by their beginning, whatever else by a value or a range.
ask(entriesByTag, { tags: { startsWith: 'x' } })
// In place of a value there may be a list, before a range too; of an array's elements as well.
ask(entriesByUser, { user_id: { in: ['', ''] }, published: { gte: now } })
ask(entriesByUser, { user_id: '', published: { in: [now] as const } })
ask(entriesByTag, { tags: { in: ['x'] }, score: { in: [1] }, likes: { in: [1, 2n] }, open: { in: [true] } })
// @ts-expect-error a Date is not a UUID in a list either
ask(entriesByUser, { user_id: { in: [now] } })
// @ts-expect-error a list is an array
ask(entriesByUser, { user_id: { in: 'x' } })
// @ts-expect-error a value that may be missing is none of a list
ask(entriesByUser, { user_id: { in: [undefined] } })
// @ts-expect-error a list goes alone
ask(entriesByUser, { user_id: { in: [''], gt: '' } })
// @ts-expect-error also for strings
ask(entriesByTag, { tags: { in: ['x'], startsWith: 'x' } })
// @ts-expect-error of a UUID there is no beginning
ask(entriesByUser, { user_id: { startsWith: 'x' } })
// @ts-expect-error a beginning goes alone
ask(entriesByTag, { tags: { startsWith: 'x', lt: 'y' } })

// What lies within objects can be asked for; of its type in the bag nothing is said.
const byAuthor = defineIndex('by_author', {
  properties: { 'author.id': 'uuid', open: 'boolean' },
  shardOn: 'author.id',
})
expectTypeOf(ask(byAuthor, { 'author.id': '', open: true }).open).toEqualTypeOf<boolean>()
expectTypeOf(ask(byAuthor, { 'author.id': '' })['author.id']).toEqualTypeOf<PropertyValue | undefined>()

// Options say more than a type. What is called otherwise is no property of the bag, and what may be absent may be.
const byHost = defineIndex('by_host', {
  properties: {
    host: { type: 'string', of: 'link', key: 'host' },
    due: { type: 'time', nulls: 'last' },
    tags: { type: 'string[]', key: 'prefix(3)', nulls: 'first' },
    title: { type: 'string', key: 'lower' },
  },
  shardOn: 'host',
})
ask(byHost, { host: 'a', due: null, tags: null })
ask(byHost, { host: 'a', due: { gte: now } })
expectTypeOf(ask(byHost, {}).due).toEqualTypeOf<Date | null | undefined>()
expectTypeOf(ask(byHost, {}).tags).toEqualTypeOf<readonly PropertyValue[] | null | undefined>()
expectTypeOf(ask(byHost, {}).title).toEqualTypeOf<string>()
expectTypeOf(ask(byHost, {})['host']).toEqualTypeOf<PropertyValue | undefined>()
// @ts-expect-error nothing without a host has a row
ask(byHost, { host: null })
// @ts-expect-error null has no order
ask(byHost, { host: 'a', due: { gte: null } })
// A property may stand high to low; what is asked for, and what comes back, is the same.
const bestFirst = defineIndex('best_first', {
  properties: { user_id: 'uuid', score: { type: 'integer', order: 'desc' }, published: 'time' },
  shardOn: 'user_id',
})
ask(bestFirst, { user_id: '', score: { gte: 5 } })
expectTypeOf(ask(bestFirst, {}).score).toEqualTypeOf<number | bigint>()
defineIndex('a', { properties: { s: { type: 'string', order: 'asc' } }, shardOn: 's' })
// @ts-expect-error there is no other order
defineIndex('a', { properties: { s: { type: 'string', order: 'down' } }, shardOn: 's' })
// @ts-expect-error there is no such key
defineIndex('a', { properties: { s: { type: 'string', key: 'upper' } }, shardOn: 's' })

// @ts-expect-error a Date is not a UUID
ask(entriesByUser, { user_id: now })
// @ts-expect-error a string is not a Date
ask(entriesByUser, { user_id: '', published: '2009-02-27' })
// @ts-expect-error no such property
ask(entriesByUser, { user: '' })
// @ts-expect-error an element is wanted, not an array
ask(entriesByTag, { tags: ['x'] })
// @ts-expect-error an empty range says nothing
ask(entriesByUser, { user_id: '', published: {} })
// @ts-expect-error one lower bound is enough
ask(entriesByUser, { user_id: '', published: { gt: now, gte: now } })
// @ts-expect-error a value that may be missing would ask for everything
ask(entriesByUser, { user_id: undefined })
// @ts-expect-error number properties have no bigint
ask(entriesByTag, { tags: 'x', score: 1n })

// What comes back has the indexed properties for sure, and any others.
const entry = ask(entriesByUser, {})
expectTypeOf(entry.id).toEqualTypeOf<EntityId>()
expectTypeOf(entry.user_id).toExtend<string>()
expectTypeOf(entry.published).toExtend<Date>()
expectTypeOf(entry['title']).toEqualTypeOf<PropertyValue | undefined>()
expectTypeOf(entry).toExtend<Entity>()
const tagged = ask(entriesByTag, {})
expectTypeOf(tagged.tags).toExtend<readonly PropertyValue[]>()
expectTypeOf(tagged.likes).toExtend<number | bigint>()
expectTypeOf<IndexedEntity>().toEqualTypeOf<{ readonly id: EntityId } & Bag>()

// getAll of the definition gives what the store's does; a plain store satisfies the interface.
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
// @ts-expect-error the same checks hold there
void entriesByUser.getAll(store, { user_id: 1 })

// The keys of a function are of the type that it says.
defineKey({ name: 'half', version: 1, from: 'integer', derive: (n: number) => n / 2 })
defineKey({ name: 'text', version: 1, from: 'integer', to: 'string', derive: (n) => String(n) })
defineKey({ name: 'some', version: 1, from: 'string', derive: (text) => (text === '' ? undefined : text) })
// @ts-expect-error a string is no integer
defineKey({ name: 'text', version: 1, from: 'integer', derive: (n: number) => String(n) })
// @ts-expect-error an integer is no Date
defineKey({ name: 'year', version: 1, from: 'integer', derive: (time: Date) => time.getFullYear() })
// @ts-expect-error nobody waits for a key
defineKey({ name: 'later', version: 1, from: 'string', derive: async (text: string) => text })
