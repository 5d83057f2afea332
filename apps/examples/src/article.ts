import { randomUUID } from 'node:crypto'
import { cleanIndex, DataStore, defineIndex, type DriverFactory } from 'looseleaf'

/*
 * The program of "How FriendFeed uses MySQL to store schema-less data" (Bret Taylor, 2009). It stores an entity and finds it by its
 * user. Then it adds an index on links to the running store, and finds the entity by its link.
 */

const userIdIndex = defineIndex('user_id', { properties: { user_id: 'uuid' }, shardOn: 'user_id' })
const linkIndex = defineIndex('link', { properties: { link: 'string' }, shardOn: 'link' })

export async function runArticle(shards: DriverFactory): Promise<{ byUser: number; byLink: number }> {
  await using store = await DataStore.open({ shards, indexes: [userIdIndex], migrate: true })
  const user_id = randomUUID()
  await store.put({
    user_id,
    feed_id: randomUUID(),
    title: 'We just launched a new backend system for FriendFeed!',
    link: 'http://friendfeed.com/e/71f0c4d2-291b-4c3e-9b8e-6f1d2c3b4a59',
    published: new Date(1235697046 * 1000),
    updated: new Date(1235697046 * 1000),
  })
  const [entity] = await userIdIndex.getAll(store, { user_id })

  // From now on, writes also write rows of this index. The cleaner adds rows for the entities that are already stored.
  await store.addIndex(linkIndex)
  await cleanIndex(store, 'link')
  const link = String(entity?.['link'])
  return {
    byUser: (await userIdIndex.getAll(store, { user_id })).length,
    byLink: (await linkIndex.getAll(store, { link })).length,
  }
}
