import { DataStore, type DriverFactory } from 'looseleaf'
import { entriesByLink, entriesByUser } from '../workload/indexes.ts'
import type { Side } from './side.ts'

export interface LooseleafSide extends Side {
  readonly store: DataStore
}

/** Looseleaf as it comes: default router, default codec, default pool. Creates the tables that the other side uses too. */
export async function openLooseleafSide(shards: DriverFactory): Promise<LooseleafSide> {
  const store = await DataStore.open({ shards, indexes: [entriesByUser, entriesByLink], migrate: true })
  return {
    name: 'looseleaf',
    store,
    put: async (entry) => (await store.put(entry)).id,
    update: async (id, change) => {
      await store.update(id, change)
    },
    get: (id) => store.get(id),
    getMany: (ids) => store.getMany(ids),
    async queryByUser(userId, limit) {
      const page = await store.query(entriesByUser, { user_id: userId }, { order: 'desc', limit })
      return page.items
    },
    settled: () => store.settled(),
    close: () => store.close(),
  }
}
