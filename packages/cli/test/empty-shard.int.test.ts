import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { runInside } from './run-command.ts'

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
const LINKS = Array.from({ length: 20 }, (_, n) => `link-${n}`)

/** Makes a store. Returns its URLs as `right`, and as `wrong` the same with an empty database in place of the second shard. */
async function storeInUse(): Promise<{ right: string[]; wrong: string[] }> {
  const { urls } = await freshShards(3)
  const [first, second, empty] = urls as [string, string, string]
  const right = [first, second]
  const store = await DataStore.open({ shards: mysqlShards(right), indexes: [byLink], migrate: true })
  for (const link of LINKS) await store.put({ link })
  await store.close()
  return { right, wrong: [first, empty] }
}

test('an empty database at a wrong address is refused even with migrate, and the right shards stay unchanged', async () => {
  const { right, wrong } = await storeInUse()
  const opened = DataStore.open({ shards: mysqlShards(wrong), indexes: [byLink], migrate: true })
  await expect(opened).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringMatching(/^Shard \S+: it is empty, but shard \S+ holds entities/),
  })
  const init = await runInside(['init', '--shards', wrong.join(',')])
  expect(init).toMatchObject({ code: 4, stderr: expect.stringContaining('--accept-empty-shards') })

  const store = await DataStore.open({ shards: mysqlShards(right) })
  for (const link of LINKS) expect(await store.query(byLink, { link })).toMatchObject({ items: [{ link }] })
  await store.close()
})

test('init --accept-empty-shards initializes an empty shard in place of a lost one', async () => {
  const { wrong } = await storeInUse()
  const shards = ['--shards', wrong.join(',')]
  expect(await runInside(['init', '--accept-empty-shards', ...shards])).toMatchObject({ code: 0 })
  expect(await runInside(['clean', '--restart', ...shards])).toMatchObject({ code: 0 })
  const store = await DataStore.open({ shards: mysqlShards(wrong) })
  const remaining: string[] = []
  for await (const { link } of store.scan()) remaining.push(String(link))
  expect(remaining.length).toBeGreaterThan(0)
  expect(remaining.length).toBeLessThan(LINKS.length)
  for (const link of LINKS) {
    const { items } = await store.query(byLink, { link })
    expect(items.map((item) => item.link)).toEqual(remaining.includes(link) ? [link] : [])
  }
  await store.close()
})
