import type { Driver, DriverFactory } from '@looseleaf/core'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import { expect, onTestFinished } from 'vitest'
import { cleanIndex, DataStore, defineIndex, type DataStoreOptions } from '../src/index.ts'

export const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

/** Connects to the same shards each time. */
export type ShardsWith = (entityTable?: string) => DriverFactory

export async function open(
  shards: DriverFactory,
  options: Partial<DataStoreOptions> = {},
): Promise<DataStore> {
  const store = await DataStore.open({ shards, indexes: [byName], onWarning: () => {}, ...options })
  onTestFinished(() => store.close())
  return store
}

export async function withDriver<T>(shards: DriverFactory, work: (driver: Driver) => Promise<T>): Promise<T> {
  const driver = await shards.connect()
  try {
    return await work(driver)
  } finally {
    await driver.close()
  }
}

export const recordedTables = (shards: DriverFactory): Promise<readonly (string | undefined)[]> =>
  withDriver(shards, (driver) =>
    Promise.all(driver.shards.map(async ({ catalog }) => (await catalog.load())!.entityTable)),
  )

/** Removes the name of the table, as in a store that was made before it was recorded. */
export async function removeRecord(shards: DriverFactory): Promise<void> {
  await withDriver(shards, (driver) =>
    changeCatalogContents(driver, (contents) => ({ ...contents, entityTable: undefined })),
  )
}

/** Checks that a store refuses a process with another table of entities, and keeps its answers. */
export async function checkOtherTable(shardsWith: ShardsWith): Promise<void> {
  const store = await open(shardsWith(), { migrate: true })
  const { id } = await store.put({ name: 'ada' })
  for (const migrate of [true, false]) {
    await expect(open(shardsWith('other'), { migrate })).rejects.toMatchObject({
      code: 'LAYOUT_MISMATCH',
      message: expect.stringMatching(
        /in the table entities, but .* the table other \(entityTable\)/,
      ) as string,
    })
  }
  await withDriver(shardsWith('other'), async ({ shards }) => {
    for (const { entities } of shards)
      await expect(entities.count()).rejects.toMatchObject({ code: 'NOT_MIGRATED' })
  })
  await cleanIndex(store)
  expect(await store.query(byName, { name: 'ada' })).toMatchObject({
    items: [{ id }],
    cost: { complete: true },
  })
}

/** Checks that a store without a record gets it by `migrate`, from a process with the table that has its entities. */
export async function checkLateRecord(shardsWith: ShardsWith): Promise<void> {
  const first = await open(shardsWith(), { migrate: true })
  const { id } = await first.put({ name: 'ada' })
  await removeRecord(shardsWith())
  await expect(open(shardsWith('other'), { migrate: true })).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringMatching(/it has a catalog, but no table other/) as string,
  })
  const store = await open(shardsWith())
  expect(await recordedTables(shardsWith())).toEqual([undefined, undefined])
  await open(shardsWith(), { migrate: true })
  expect(await recordedTables(shardsWith())).toEqual(['entities', 'entities'])
  await expect(open(shardsWith('other'))).rejects.toMatchObject({ code: 'LAYOUT_MISMATCH' })
  for (const each of [first, store]) expect(await each.get(id)).toMatchObject({ name: 'ada' })
  await store.put({ name: 'bob' })
}
