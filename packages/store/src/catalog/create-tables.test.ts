import { LooseleafError, type Driver, type DriverFactory } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'id' })
const spec = tableSpec({ ...byName, table: 'index_by_name' })

/** Connects as a user without the right to create tables, existing or not. */
const limited = (memory: Driver): DriverFactory => ({
  shardCount: 2,
  connect: async () => ({
    ...faultyDriver(memory, ({ operation }) =>
      operation.startsWith('create')
        ? {
            before() {
              throw new LooseleafError('SHARD_DENIED', 'The user lacks a privilege.')
            },
          }
        : undefined,
    ),
    close: async () => {},
  }),
})

test('a user without the right to create tables opens a store whose tables were made by hand', async () => {
  const memory = await memoryShards(2).connect()
  for (const shard of memory.shards) {
    await shard.createTables()
    await shard.createIndexTable(spec)
  }
  for (let time = 0; time < 2; time++) {
    const store = await DataStore.open({ shards: limited(memory), indexes: [byName], migrate: true })
    await store.put({ name: 'one' })
    expect(await store.count(byName, { name: 'one' }, { scatter: true })).toBe(time + 1)
  }
})

test('a user without the right to create tables gets the error of the database if a table is missing', async () => {
  const memory = await memoryShards(2).connect()
  const open = (): Promise<DataStore> =>
    DataStore.open({ shards: limited(memory), indexes: [byName], migrate: true })
  await expect(open()).rejects.toMatchObject({ code: 'SHARD_DENIED' })
  for (const shard of memory.shards) await shard.createTables()
  await memory.shards[1]!.createIndexTable(spec)
  await expect(open()).rejects.toMatchObject({ code: 'SHARD_DENIED' })
  await memory.shards[0]!.createIndexTable(spec)
  await memory.shards[1]!.dropIndexTable({ table: 'looseleaf_pending', columns: [] })
  await expect(open()).rejects.toMatchObject({ code: 'SHARD_DENIED' })
  await memory.shards[1]!.createTables()
  await (await open()).close()
})
