import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { parseId } from '@looseleaf/core'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { expect, test } from 'vitest'

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
const LINKS = Array.from({ length: 20 }, (_, n) => `link-${n}`)

function open(urls: readonly string[], migrate: boolean): Promise<DataStore> {
  return DataStore.open({ shards: mysqlShards(urls), indexes: [byLink], migrate })
}

/** Removes the layout, as in a store that was made before there were layouts. */
async function removeLayouts(urls: readonly string[]): Promise<void> {
  const driver = await mysqlShards(urls).connect()
  for (const { catalog } of driver.shards) {
    const current = (await catalog.load())!
    expect(await catalog.change({ ...current, layout: undefined }, current.epoch)).toBe(true)
  }
  await driver.close()
}

async function expectAllIn(store: DataStore, ids: readonly string[]): Promise<void> {
  for (const [i, link] of LINKS.entries()) {
    expect(await store.get(ids[i]!)).toMatchObject({ link })
    expect(await store.query(byLink, { link })).toMatchObject({ items: [{ link }] })
  }
}

test('shards on servers may be given in any order, with a layout, without one, and after it was added', async () => {
  const { urls } = await freshShards(2)
  const made = await open(urls, true)
  const ids = (await made.putMany(LINKS.map((link) => ({ link })))).map(({ id }) => id)
  await made.close()
  const expectAll = async (migrate: boolean): Promise<void> => {
    const store = await open(urls.toReversed(), migrate)
    await expectAllIn(store, ids)
    await store.close()
  }
  await expectAll(false)
  await removeLayouts(urls)
  // Without a layout, nothing tells the address of the missing shard.
  await expect(open([urls[0]!], false)).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringMatching(
      /its store was made with the router buckets-1 shards=2 .*given is buckets-1 shards=1 /,
    ),
  })
  await expectAll(false)
  await expectAll(true)
  const driver = await mysqlShards(urls).connect()
  const layouts = await Promise.all(driver.shards.map(async ({ catalog }) => (await catalog.load())!.layout))
  expect(layouts[0]).toMatchObject({ revision: 0, shards: [{ buckets: '0-2047' }, { buckets: '2048-4095' }] })
  expect(layouts[1]).toEqual(layouts[0])
  await driver.close()
})

test.each([0, 1])(
  'given shard %i alone, a process connects to the other one by the layout and reads everything',
  async (given) => {
    const { urls } = await freshShards(2)
    const made = await open(urls, true)
    const ids = (await made.putMany(LINKS.map((link) => ({ link })))).map(({ id }) => id)
    // Otherwise this test would read one shard only.
    expect(new Set(ids.map((id) => made.context.router.shardOfId(parseId(id)))).size).toBe(2)
    await made.close()
    const store = await open([urls[given]!], false)
    expect(store.context.driver.shards).toHaveLength(2)
    await expectAllIn(store, ids)
    await store.close()
  },
)
