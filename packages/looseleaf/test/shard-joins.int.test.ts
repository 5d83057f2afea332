import { consume } from '@looseleaf/changes'
import { startCleaner } from '@looseleaf/cleaner'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { expect, test } from 'vitest'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

test('a shard joins on MariaDB, and consumers, cleaner and calls of another process go on', async () => {
  const { urls } = await freshShards(3)
  const given = urls.slice(0, 2)
  const added = new URL(urls[2]!)
  const address = `${added.host}${added.pathname}`
  await using store = await DataStore.open({ shards: mysqlShards(given), indexes: [byName], migrate: true })
  const connected: string[] = []
  const connection = (name: string): string => {
    connected.push(name)
    return urls[2]!
  }
  await using older = await DataStore.open({ shards: mysqlShards(given, { connection }), indexes: [byName] })
  const handled = new Set<string>()
  const errors: unknown[] = []
  await using consumer = consume(older, 'search', ({ id }) => void handled.add(id), {
    from: 'beginning',
    onError: (error) => errors.push(error),
  })
  await using cleaner = startCleaner(older, { onError: (error) => errors.push(error) })
  const ids: string[] = []
  const write = async (): Promise<void> => {
    for (let n = 0; n < 5; n++) ids.push((await older.put({ name: 'one', n })).id)
  }
  await write()

  expect(await store.shards.add(address)).toMatchObject({ number: 2, address, added: true })
  await write()
  await expect
    .poll(() => older.context.driver.shards.map(({ name }) => name).at(-1), { timeout: 10_000 })
    .toBe(address)
  expect(new Set(connected)).toEqual(new Set([address]))
  await expect.poll(() => consumer.status().shards.length, { timeout: 10_000 }).toBe(3)
  await expect.poll(() => cleaner.status().shards.length, { timeout: 20_000 }).toBe(3)
  await expect.poll(() => ids.every((id) => handled.has(id)), { timeout: 10_000 }).toBe(true)
  expect(await older.query(byName, {}, { scatter: true, limit: 20 })).toMatchObject({ items: { length: 10 } })
  expect(errors).toEqual([])

  await using partial = await DataStore.open({ shards: mysqlShards([urls[1]!]), indexes: [byName] })
  expect(await partial.getMany(ids)).toHaveLength(10)
  expect((await partial.shards.list()).map(({ error }) => error)).toEqual([undefined, undefined, undefined])
})

test('an address with other credentials connects with these, after an add that was denied', async () => {
  const { urls } = await freshShards(2)
  await using store = await DataStore.open({ shards: mysqlShards(urls.slice(0, 1)), migrate: true })
  const denied = new URL(urls[1]!)
  denied.password = 'wrong'
  await expect(store.shards.add(denied.href)).rejects.toMatchObject({ code: 'SHARD_DENIED' })
  expect(await store.shards.list()).toHaveLength(1)
  expect(await store.shards.add(urls[1]!)).toMatchObject({ number: 1, added: true })
  expect((await store.shards.list()).map(({ error }) => error)).toEqual([undefined, undefined])
})
