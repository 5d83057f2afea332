// Compiled and never run. Checks the types of results, and that mistakes do not compile.
import type { EntityId, Fate } from '@looseleaf/core'
import { unchanged, type DataStore, type PartialCount, type PartialEntities } from '@looseleaf/store'
import { z } from 'zod'
import {
  defineKind,
  typed,
  unset,
  type Entities,
  type Item,
  type ItemOf,
  type PageOf,
  type Patch,
} from './index.ts'

declare const store: DataStore

interface Issue {
  project: string
  title: string
  status: 'open' | 'closed'
  labels: readonly string[]
  author: { id: string; name: string }
  assignee?: string | null
  due?: Date
  watchers: readonly { id: string }[]
}

const Issues = defineKind('issue', {
  schema: typed<Issue>(),
  indexes: {
    byAssignee: {
      by: [{ assignee: { type: 'uuid', nulls: 'last' } }, { due: { type: 'time', nulls: 'skip' } }],
    },
    byStatus: {
      by: [
        { project: 'uuid' },
        { status: 'string' },
        { due: { type: 'time', order: 'desc', nulls: 'last' } },
      ],
    },
    byLabel: { by: [{ labels: 'string[]' }] },
    byAuthor: { by: [{ 'author.id': 'uuid' }], include: ['title', 'author.name'] },
    byWatcher: { by: [{ 'watchers.id': 'uuid[]' }] },
    byTitle: {
      by: [{ title: { type: 'string', key: 'prefix(1)', as: 'initial' } }, { title: 'string' }],
      unique: true,
    },
  },
})
const issues = Issues.in(store)

/** A call with many entities returns items, or fates with `{ fates: true }`. */
export async function many(item: Item<Issue>, fates: boolean): Promise<void> {
  const items: Item<Issue>[] = await issues.insertMany([item])
  const putFates: Fate<Item<Issue>>[] = await issues.putMany([item], { fates: true })
  const changed: Item<Issue>[] = await issues.updateMany(items, { title: 'x' }, { fates: false })
  const deleted: boolean[] = await issues.deleteMany(changed)
  const deleteFates: Fate<boolean>[] = await issues.deleteMany(changed, { fates: true })
  // @ts-expect-error `ok` of a fate has to be checked first
  console.log(deleted, deleteFates, putFates[0]!.value)
  // @ts-expect-error `fates` has to be a literal
  await issues.insertMany([item], { fates })
}

export async function results(id: EntityId): Promise<[string, Date | undefined, number, 'open' | 'closed']> {
  const { items } = await issues.byAssignee.page({ assignee: null, due: { lt: new Date() } }, { limit: 3 })
  const [first] = items
  await issues.byStatus.all({ project: 'p', status: { in: ['open', 'closed'] } })
  await issues.byLabel.count({ labels: 'a' })
  await issues.byAuthor.first({ 'author.id': 'x' })
  await issues.byWatcher.first({ 'watchers.id': 'x' })
  await issues.byTitle.first({ initial: 'T' })
  await issues.byAssignee.page({}, { scatter: true })
  const issue = await issues.get(id)
  if (issue === undefined || first === undefined) throw new Error()
  const { version, ...saved } = await issues.update(issue, { title: 'x' })
  await issues.update(id, (now) => (now.status === 'open' ? unchanged : { status: 'open' }))
  await issues.update({ id, version: '17' }, { due: new Date() })
  await issues.update(id, { due: unset })
  await issues.update(id, { ...issue, title: 'x' })
  await issues.update(id, (now) => ({ ...now, due: unset }))
  // @ts-expect-error the issue has to have a title
  await issues.update(id, { title: unset })
  // @ts-expect-error undefined removes nothing
  await issues.update(id, { due: undefined })
  // @ts-expect-error undefined removes nothing
  await issues.update(id, { title: undefined })
  return [first.id, first.due, version, saved.status]
}

/** `PageOf` is the type of a page, with items of the type `ItemOf`. */
export async function pages(): Promise<ItemOf<typeof Issues>[]> {
  const page: PageOf<typeof Issues> = await issues.byLabel.page({ labels: 'a' })
  const [counted] = await issues.byLabel.pageMany([{ labels: 'a' }], { count: true })
  const others: PageOf<typeof Issues>[] = counted === undefined ? [] : [counted]
  return [page, ...others].flatMap(({ items }) => items)
}

interface OfProject {
  readonly project: string
}

/** Queries whose parts come from variables compile. */
export async function queries(filter: OfProject, everywhere: boolean, json: string): Promise<number> {
  await issues.byStatus.all(filter)
  await issues.byStatus.all({ project: JSON.parse(json), status: JSON.parse(json) })
  await issues.byStatus.all({ project: 'p', status: { in: [] } })
  await issues.byStatus.all({}, { scatter: everywhere })
  await issues.byStatus.countMany(['p', 'q'].map((project) => ({ project, status: { in: ['open'] } })))
  await issues.byStatus.pageMany([{ project: 'p' }, { project: 'q', status: 'open' }], { limit: 3 })
  const [counted] = await issues.byStatus.pageMany([{ project: 'p' }], { count: true })
  return counted?.count ?? 0
}

/** The answer of a read has a place for missing shards exactly if it may skip them. */
export async function partialAnswers(handling: 'fail' | 'skip'): Promise<void> {
  const skip = { onUnavailable: 'skip' } as const
  const { items, unread }: PartialEntities<ItemOf<typeof Issues>> = await issues.getMany([], skip)
  const whole: (ItemOf<typeof Issues> | undefined)[] = await issues.getMany([], { onUnavailable: 'fail' })
  const counted: PartialCount = await issues.byLabel.count({ labels: 'a' }, skip)
  const counts: PartialCount[] = await issues.byLabel.countMany([{ labels: 'a' }], skip)
  const either: number | PartialCount = await issues.byLabel.count(
    { labels: 'a' },
    { onUnavailable: handling },
  )
  // @ts-expect-error the answer may be partial
  const count: number = await issues.byLabel.count({ labels: 'a' }, { onUnavailable: handling })
  // @ts-expect-error a loop has no place for missing shards
  issues.byLabel.each({ labels: 'a' }, skip)
  // @ts-expect-error as above
  await issues.byLabel.all({ labels: 'a' }, skip)
  // @ts-expect-error a write never leaves an entity out
  await issues.byLabel.deleteWhere({ labels: 'a' }, skip)
  void [items, unread, whole, counted, counts, either, count]
}

type Happening =
  | { readonly kind: 'click'; readonly element: string }
  | { readonly kind: 'buy'; readonly product: string; readonly coupon?: string }
  | { readonly kind: 'view'; readonly product?: never }

const Happenings = defineKind('happening', {
  schema: typed<Happening>(),
  indexes: {
    // A variant without the property has no row, so the index needs no `nulls`.
    byProduct: { by: [{ product: 'string' }] },
    byCoupon: { by: [{ coupon: { type: 'string', nulls: 'skip' } }], include: ['product'] },
  },
})

export async function variants(): Promise<Happening | undefined> {
  // @ts-expect-error entities without a coupon have no rows
  await Happenings.in(store).byCoupon.first({ coupon: null })
  return Happenings.in(store).byProduct.first({ product: 'p' })
}

/** An intersection takes conditions of the kind's own indexes, and each is checked like a query. */
export async function intersections(): Promise<Item<Issue>[]> {
  const label = issues.byLabel.condition({ labels: 'a' })
  const { items } = await issues.intersect([label, issues.byLabel.condition({ labels: 'b' })], { limit: 3 })
  await issues.intersect([issues.byAssignee.condition({}, { scatter: true })])
  // @ts-expect-error not a property of the index
  issues.byLabel.condition({ label: 'a' })
  // @ts-expect-error needs scatter
  issues.byAssignee.condition({})
  // @ts-expect-error each condition has its own scatter
  await issues.intersect([label], { scatter: true })
  // @ts-expect-error a condition of another kind
  await Counts.in(store).intersect([label])
  return [...items]
}

/** Calls of the store take the definition of a kind's index. */
export async function storeQueries(): Promise<[Date | null | undefined, 'open' | 'closed' | undefined]> {
  await store.query(issues.byAssignee.definition, { assignee: null, due: { lt: new Date() } })
  await store.query(issues.byTitle.definition, { initial: 'T', title: { startsWith: 'T' } })
  // @ts-expect-error not a property of the index
  await store.query(issues.byAssignee.definition, { asignee: null })
  // @ts-expect-error not the type of the property
  await store.query(issues.byTitle.definition, { initial: 7 })
  const { items } = await store.query(issues.byStatus.definition, { project: 'p' })
  const [first] = items
  if (first === undefined) throw new Error()
  return [first.due, issues.itemOf(first)?.status]
}

/** A function over any kind keeps the type of its items. */
async function firstOf<In, Out>(entities: Entities<In, Out>, ids: readonly EntityId[]): Promise<Item<Out>> {
  const [first] = await entities.getMany(ids)
  if (first === undefined) throw new Error()
  return first
}

/** A function over any kind passes on a patch. */
export async function passedOn<In, Out>(
  entities: Entities<In, Out>,
  id: EntityId,
  patch: Patch<Out>,
): Promise<Item<Out>> {
  return entities.update(id, patch)
}

interface Named {
  readonly name: string
  readonly size: 'small' | 'large'
}
const Counts = defineKind('counts', { schema: typed<Readonly<Record<string, number>>>() })
const Things = defineKind('thing', { schema: z.object({ name: z.string() }).catchall(z.string()) })

/** Edits return literals, items, parts of the entity, and any names if the kind knows no names. */
export async function edits(
  id: EntityId,
  item: Item<Issue>,
  patch: Patch<Issue>,
  json: string,
): Promise<void> {
  await issues.update(id, ({ due: _, ...others }) => others)
  await issues.update(id, (now) => ({ ...item, title: now.title }))
  await issues.update(id, (now) => ({ author: { ...now.author, name: 'x' } }))
  await issues.update(id, ({ title }) => {
    if (title === '') return unchanged
    return { status: 'closed' }
  })
  await issues.update(id, patch)
  await issues.update(id, () => JSON.parse(json))
  await issues.updateMany([item], () => ({ assignee: null }), { fates: true })
  await issues.byLabel.updateWhere({ labels: 'a' }, ({ labels }) => ({ labels: labels.slice(1) }))
  await defineKind('named', { schema: typed<Named>() })
    .in(store)
    .update(id, () => ({ size: 'small' }))
  await Counts.in(store).update(id, (now) => ({ ...now, more: 1 }))
  await Things.in(store).update(id, (now) => ({ ...now, unknown: 'x' }))
  await Happenings.in(store).update(id, (now) =>
    now.kind === 'buy' ? { coupon: 'x' } : { ...now, kind: 'click', element: 'y' },
  )
  // @ts-expect-error no variant has the property
  await Happenings.in(store).update(id, (now) => ({ ...now, cuopon: 'x' }))
  // @ts-expect-error the edit returns a promise
  await issues.update(id, async () => ({ title: 'x' }))
  // @ts-expect-error not a value of the property
  await issues.update(id, () => ({ status: 'opne' }))
}

export async function ofAnyKind(id: EntityId): Promise<'open' | 'closed'> {
  return (await firstOf(issues, [id])).status
}

export async function mistakes(id: EntityId): Promise<void> {
  // @ts-expect-error the first property is missing
  await issues.byAssignee.page({ due: { lt: new Date() } })
  // @ts-expect-error not a property of the index
  await issues.byAssignee.page({ assignee: 'x', title: 'x' })
  // @ts-expect-error not the type of the property
  await issues.byAssignee.page({ assignee: 7 })
  // @ts-expect-error a range before another property
  await issues.byStatus.page({ project: 'p', status: { startsWith: 'o' }, due: new Date() })
  // @ts-expect-error a value is no status
  await issues.byStatus.page({ project: 'p', status: 'opne' })
  // @ts-expect-error a list has a value that is no status
  await issues.byStatus.page({ project: 'p', status: { in: ['open', 'opne'] } })
  // @ts-expect-error the kind has no such index
  await issues.byMilestone.page({ milestone: 1 })
  // @ts-expect-error the kind has no such property
  await issues.update(id, { titel: 'x' })
  // @ts-expect-error not the type of the property
  await issues.update(id, { title: 7 })
  // @ts-expect-error the edit returns nothing
  await issues.update(id, () => {})
  // @ts-expect-error an id in an object without a version
  await issues.update({ id }, { title: 'x' })
  // @ts-expect-error a property is missing
  await issues.insert({ title: 'x' })
  defineKind('issue', {
    schema: typed<Issue>(),
    // @ts-expect-error not a property of the kind
    indexes: { byMilestone: { by: [{ milestone: 'string' }] } },
  })
  defineKind('issue', {
    schema: typed<Issue>(),
    // @ts-expect-error not a type for the property
    indexes: { byTitle: { by: [{ title: 'time' }] } },
  })
  defineKind('issue', {
    schema: typed<Issue>(),
    // @ts-expect-error the property holds an array
    indexes: { byLabel: { by: [{ labels: 'string' }] } },
  })
  defineKind('issue', {
    schema: typed<Issue>(),
    // @ts-expect-error a misspelt option
    indexes: { byTitle: { by: [{ title: 'string' }], uniqe: true } },
  })
  const kind = { schema: typed<Issue>() }
  // @ts-expect-error an optional property without `nulls`
  defineKind('issue', { ...kind, indexes: { byDue: { by: [{ due: 'time' }] } } })
  // @ts-expect-error a nullable property with other options
  defineKind('issue', { ...kind, indexes: { byA: { by: [{ assignee: { type: 'uuid', order: 'desc' } }] } } })
  // @ts-expect-error not a property of the index
  defineKind('issue', { ...kind, indexes: { byTitle: { by: [{ title: 'string' }], shardOn: 'nothing' } } })
  // @ts-expect-error two properties in one object
  defineKind('issue', { ...kind, indexes: { byTitle: { by: [{ title: 'string', status: 'string' }] } } })
  // @ts-expect-error not a property of the kind
  defineKind('issue', { ...kind, indexes: { byTitle: { by: [{ title: 'string' }], include: ['titel'] } } })
  // @ts-expect-error no property at all
  defineKind('issue', { ...kind, indexes: { byTitle: { by: [] } } })
  // @ts-expect-error shardOn has no value
  await issues.byStatus.all({})
  // @ts-expect-error scatter is false
  await issues.byStatus.all({}, { scatter: false })
  // @ts-expect-error a misspelt option of a query
  await issues.byStatus.page({ project: 'p' }, { limt: 3 })
  // @ts-expect-error a value that may be undefined
  await issues.byStatus.page({ project: 'p' as string | undefined })
  // @ts-expect-error the name version is reserved
  defineKind('issue', { schema: typed<{ version: number }>() })
  // @ts-expect-error a function cannot be stored
  defineKind('issue', { schema: typed<{ run: () => void }>() })
  // @ts-expect-error the schema does not accept its own output
  defineKind('issue', { schema: z.object({ size: z.string().transform(Number) }) })
}

/** A kind may expire by a time that is optional, or lies within an object. */
export const expiring = [
  defineKind('issue', { schema: typed<Issue>(), expires: 'due' }),
  defineKind('session', { schema: typed<{ lease: { until: Date | null } }>(), expires: 'lease.until' }),
  // @ts-expect-error an array of times is no time
  defineKind('session', { schema: typed<{ times: readonly Date[] }>(), expires: 'times' }),
  // @ts-expect-error the property may be a string
  defineKind('session', { schema: typed<{ until: Date | string }>(), expires: 'until' }),
  defineKind('issue', {
    schema: typed<Issue>(),
    // @ts-expect-error expires is an option of the kind, not of an index
    indexes: { byTitle: { by: [{ title: 'string' }], expires: 'due' } },
  }),
]
