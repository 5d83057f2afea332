// Compiled, never run: what has to be a compile error, and what has to be known of a result.
import { defineIndex } from '@looseleaf/index-engine'
import type { Entity } from '@looseleaf/core'
import type { DataStore } from './data-store.ts'

declare const store: DataStore
const byUser = defineIndex('by_user', {
  properties: { user_id: 'uuid', published: 'time' },
  shardOn: 'user_id',
})

export async function results(): Promise<[string, Date, unknown, Entity | undefined]> {
  const page = await store.query(byUser, { user_id: 'x', published: { lt: new Date() } }, { order: 'desc' })
  const [item] = page.items
  if (item === undefined) return ['', new Date(), undefined, await store.get('x')]
  return [item.user_id, item.published, item['anything'], item]
}

export async function mistakes(): Promise<void> {
  // @ts-expect-error not a property of the index
  await store.query(byUser, { user: 'x' })
  // @ts-expect-error not the type of the property
  await store.query(byUser, { user_id: 7 })
  // @ts-expect-error not the type of the property, in a range
  await store.query(byUser, { user_id: 'x', published: { lt: 'yesterday' } })
  // @ts-expect-error two lower bounds
  await store.query(byUser, { published: { gt: new Date(), gte: new Date() } })
  // @ts-expect-error not an order
  await store.query(byUser, { user_id: 'x' }, { order: 'newest' })
  // @ts-expect-error not a property of the index
  await store.count(byUser, { title: 'x' })
  // @ts-expect-error shardOn has to be one of the properties, or id
  defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'user_id' })
  // @ts-expect-error not a type
  defineIndex('by_link', { properties: { link: 'text' }, shardOn: 'link' })
  // @ts-expect-error a function cannot be stored
  await store.put({ callback: () => 1 })
  // @ts-expect-error a bag is an object
  await store.put('title')
}
