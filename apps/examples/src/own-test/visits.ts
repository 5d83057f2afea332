import { deriveId, defineKind, typed, type DataStore, type Item } from 'looseleaf'

interface Visited {
  readonly path: string
  readonly count: number
}

/** Number of visits of a page. There is one entity per page, and its id is derived from the path. */
export const Visits = defineKind('visits', {
  schema: typed<Visited>(),
  indexes: { byCount: { by: [{ count: { type: 'integer', order: 'desc' } }], shardOn: 'id' } },
})

export async function visit(store: DataStore, path: string): Promise<number> {
  const id = deriveId('visits', path)
  const { count } = await Visits.in(store).upsert(id, { path, count: 1 }, (now) => ({ count: now.count + 1 }))
  return count
}

export async function mostVisited(store: DataStore, limit: number): Promise<readonly Item<Visited>[]> {
  const { items } = await Visits.in(store).byCount.page({}, { scatter: true, limit })
  return items
}
