import { defineIndex, type DataStore, type EntityChange } from '../src/index.ts'

export const byUser = defineIndex('by_user', {
  properties: { user: 'string', n: 'integer' },
  shardOn: 'user',
})
export const byRank = defineIndex('by_rank', { properties: { n: 'integer' }, shardOn: 'id' })
export const byName = defineIndex('by_name', {
  properties: { name: 'string' },
  shardOn: 'name',
  unique: true,
})
export const byGroup = defineIndex('by_group', { properties: { group: 'string' }, shardOn: 'group' })
export const indexes = [byUser, byRank, byName]

export const bagOf = (n: number): object => ({
  user: `user ${n % 5}`,
  n,
  name: `name ${n}`,
  group: `group ${n % 3}`,
})

/** Takes this many changes. */
export async function take(store: DataStore, from: string, count: number): Promise<readonly EntityChange[]> {
  const changes: EntityChange[] = []
  for await (const change of store.changes({ from, pollMs: 10 })) {
    changes.push(change)
    if (changes.length === count) break
  }
  return changes
}
