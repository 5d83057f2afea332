import { createLimitedUser } from '@looseleaf-tooling/vitest/limited-user'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { DataStore, defineIndex, mysqlShards } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
const byTag = defineIndex('by_tag', { properties: { tag: 'string' }, shardOn: 'tag' })

test('a process without the rights to change tables leaves the indexes intact', async () => {
  const { urls } = await freshShards(2)
  const open = async (to: readonly string[], migrate: boolean): Promise<DataStore> => {
    const store = await DataStore.open({ shards: mysqlShards(to), indexes: [byLink], migrate })
    onTestFinished(() => store.close())
    return store
  }
  const admin = await open(urls, true)
  const users = await Promise.all(urls.map((url) => createLimitedUser(url, 'SELECT, INSERT, UPDATE, DELETE')))
  onTestFinished(async () => {
    for (const user of users) await user.drop()
  })
  const store = await open(
    users.map(({ url }) => url),
    false,
  )
  await store.put({ link: 'x', tag: 'y' })

  const denied = (right: RegExp): object => ({ code: 'SHARD_DENIED', message: expect.stringMatching(right) })
  await expect(store.dropIndex('by_link')).rejects.toMatchObject(denied(/right to drop tables \(DROP/))
  await expect(store.addIndex(byTag)).rejects.toMatchObject(denied(/right to create tables \(CREATE/))
  expect(await admin.indexes()).toMatchObject([{ name: 'by_link', state: 'ready' }])
  expect(await store.getAll(byLink, { link: 'x' })).toHaveLength(1)

  await admin.addIndex(byTag)
  expect(await admin.dropIndex('by_link')).toBe(true)
  expect(await admin.indexes()).toMatchObject([{ name: 'by_tag', table: 'index_by_tag' }])
})
