// Compiled, never run: checks compile errors and the types of results.
import { defineIndex } from '@looseleaf/index-engine'
import {
  isLooseleafError,
  type Bag,
  type Entity,
  type Fate,
  type PropertyValue,
  type SomeFailedError,
} from '@looseleaf/core'
import type { DataStore } from './data-store.ts'
import { unchanged } from './unchanged.ts'
import type { DataStoreOptions, InsertOptions, NewIdOptions, PutOptions, PutResult } from './types.ts'

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

const byTag = defineIndex('by_tag', {
  properties: { tags: 'string[]', published: 'time' },
  shardOn: 'tags',
})

/** Items of an intersection have the properties of all its indexes. */
export async function intersections(): Promise<
  [string, Date, readonly PropertyValue[], unknown] | undefined
> {
  const { items, cursor, cost } = await store.intersect([
    { index: byUser, where: { user_id: 'x', published: { gte: new Date() } } },
    { index: byTag, where: { tags: 'a' } },
  ])
  const [item] = items
  if (item === undefined || cursor === undefined || !cost.complete) return undefined
  // With a number of conditions known only at run time, the types of the items are unknown.
  const some = ['a', 'b'].map((tags) => ({ index: byTag, where: { tags } }))
  const [other] = (await store.intersect(some, { limit: 5, order: 'desc', scatter: true })).items
  return [item.user_id, item.published, item.tags, other?.['anything']]
}

export async function mistakes(): Promise<void> {
  const ofUser = { index: byUser, where: { user_id: 'x' } } as const
  // @ts-expect-error not a property of the second index
  await store.intersect([ofUser, { index: byTag, where: { user_id: 'x' } }])
  // @ts-expect-error not the type of the property
  await store.intersect([{ index: byTag, where: { tags: 7 } }])
  // @ts-expect-error conditions have to be an array
  await store.intersect({ index: byTag, where: { tags: 'a' } })
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

interface Link {
  readonly url: string
  readonly seen?: Date
}

interface Entry {
  readonly title: string
  readonly links: readonly Link[]
  first?: Link
  likes: number | bigint | null
  replies?: Entry[]
  byName: Record<string, Link>
  thumbnail: Uint8Array
  kind: 'post' | 'link'
}

interface Widget {
  title: string
  render(): void
}

class Money {
  readonly amount = 1
  double(): number {
    return this.amount * 2
  }
}

declare const entry: Entry
declare const widget: Widget

export async function stored(
  bag: Bag,
  entity: Entity,
  record: Record<string, PropertyValue>,
  either: Entry | Link,
): Promise<void> {
  for (const one of [entry, bag, entity, record]) await store.put(one)
  await store.put(entry, { ifVersion: 1 })
  await store.put(either)
  await store.put({ ...entity, title: 'x' })
  await store.put({ ...entry, id: 'x', tags: ['a', 'b'].map((text) => ({ text })) })
  await store.insert(entry, { id: 'x' })
  await store.update('x', () => entry)
  await store.update('x', (found) => ({ ...found, likes: 1 }))
  await store.update('x', (found) => {
    if (found['likes'] === 1) return unchanged
    return found['title'] === 'x' ? { title: 'y', likes: 2 } : { likes: 3 }
  })
  await store.putMany([entry, entry])
  await store.putMany([entry, bag, { likes: 1 }])
  await store.putMany([1, 2].map((likes) => ({ likes, by: [{ likes }] })))
}

/** The result of `putMany` depends on `fates`. */
export async function fatesOfMany(isAsked: boolean): Promise<void> {
  const written: PutResult[] = await store.putMany([entry])
  const fates: Fate<PutResult>[] = await store.putMany([entry], { fates: true })
  // @ts-expect-error `fates` has to be known at compile time
  await store.putMany([entry], { fates: isAsked })
  // @ts-expect-error `ok` has to be checked first
  written.push(fates[0]!.value)
  try {
    await store.putMany([entry])
  } catch (error) {
    if (isLooseleafError(error, 'SOME_FAILED')) fates.push(...(error as SomeFailedError<PutResult>).fates)
  }
}

/** The error of a key that another entity has names the index and that entity. */
export async function holderOf(bag: Bag): Promise<readonly [index: string, holder: string] | undefined> {
  try {
    await store.put(bag)
    return undefined
  } catch (error) {
    if (!isLooseleafError(error, 'DUPLICATE_KEY')) throw error
    return [error.index, error.holder]
  }
}

/** A program may have generic functions for its bags. */
export async function generic<B extends Bag>(bag: B): Promise<void> {
  await store.put(bag)
  await store.putMany([bag])
  await store.update('x', () => bag)
}

export async function notStored(promised: Promise<Entry>, unknown: { title: unknown }): Promise<void> {
  // @ts-expect-error a method cannot be stored
  await store.put(widget)
  // @ts-expect-error a nested method cannot be stored
  await store.put({ widgets: [{ widget }] })
  // @ts-expect-error a symbol cannot be stored
  await store.put({ name: Symbol('x') })
  // @ts-expect-error a Map cannot be stored
  await store.put({ counts: new Map<string, number>() })
  // @ts-expect-error an object with methods cannot be stored
  await store.put({ price: new Money() })
  // @ts-expect-error an object with methods is no bag
  await store.put(new Money())
  // @ts-expect-error an array cannot hold undefined
  await store.put({ list: [undefined] })
  // @ts-expect-error unknown is no bag
  await store.put(unknown)
  // @ts-expect-error an array is no bag
  await store.put([entry])
  // @ts-expect-error a promise is no bag
  await store.put(promised)
  // @ts-expect-error a function is no bag
  await store.put(() => entry)
  // @ts-expect-error a function cannot be stored
  await store.insert({ callback: () => 1 })
  // @ts-expect-error a method cannot be stored
  await store.putMany([widget])
  // @ts-expect-error an array of bags is needed
  await store.putMany(entry)
  // @ts-expect-error an edit cannot be async
  await store.update('x', async () => entry)
  // @ts-expect-error a method cannot be stored
  await store.update('x', () => widget)
  // @ts-expect-error the new bag is missing
  await store.update('x', () => undefined)
  // @ts-expect-error changing the bag in place returns no new bag
  await store.update('x', (found) => {
    if (found['likes'] === 1) return { likes: 2 }
  })
}

/** Options may be undefined, except `ifVersion`, which protects an entity from being overwritten. */
export async function undefinedOptions(given: { n?: number; text?: string; flag?: boolean }): Promise<void> {
  const signal: AbortSignal | undefined = undefined
  const asked: [PutOptions, InsertOptions, NewIdOptions] = [
    { id: given.text, signal },
    { id: given.text, signal },
    { near: given.text },
  ]
  const opened: Omit<DataStoreOptions, 'shards'> = {
    indexes: undefined,
    router: undefined,
    codec: undefined,
    migrate: given.flag,
    acceptEmptyShards: given.flag,
    writeOrder: undefined,
    onIndexFailure: undefined,
    deleteDelayMs: given.n,
    queryTimeMs: given.n,
    writeTimeoutMs: given.n,
    onWarning: undefined,
    time: undefined,
    random: undefined,
  }
  await store.put({}, asked[0])
  await store.count(byUser, {}, { scatter: given.flag, exact: given.flag, onDamaged: undefined, signal })
  void opened
  // @ts-expect-error a missing version would overwrite the entity that it was meant to protect
  await store.put({}, { ifVersion: given.n })
  // @ts-expect-error a missing version, as above
  await store.update('x', (bag) => bag, { ifVersion: given.n })
  // @ts-expect-error a missing version, as above
  await store.delete('x', { ifVersion: given.n })
}
