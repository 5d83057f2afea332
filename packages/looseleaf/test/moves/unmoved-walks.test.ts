import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import { walkOwned, walkUnread } from '@looseleaf/protocol/internal'
import { bucketOfId } from '@looseleaf/router'
import type { DataStore } from '@looseleaf/store'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from './stores.ts'

interface Row {
  readonly id: Uint8Array
}

async function storeOf(hasLayout: boolean): Promise<DataStore> {
  const driver = await memoryShards(2).connect()
  const store = await openStore(driver)
  onTestFinished(async () => {
    await store.close()
    await driver.close()
  })
  if (!hasLayout) {
    await changeCatalogContents(driver, (contents) => ({ ...contents, layout: undefined }))
    await store.context.catalog.reload()
  }
  return store
}

function rowOn({ context: { router } }: DataStore, shard: number): Row {
  for (;;) {
    const id = router.newId()
    if (router.shardOfId(id) === shard) return { id }
  }
}

/** Walks over the rows of shard 1, which is read last. Shard 0 has none. */
async function walked(
  walk: typeof walkOwned<Row>,
  { context }: DataStore,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  const found: Row[] = []
  async function* read(shard: number): AsyncGenerator<readonly Row[]> {
    if (shard === 1) yield rows
  }
  for await (const [some] of walk(context, read, {})) found.push(...some)
  return found
}

test.each([
  ['whose layout has no moves', true],
  ['without a layout', false],
])('a walk over a store %s gives a row on the wrong shard', async (_, hasLayout) => {
  const store = await storeOf(hasLayout)
  const rows = [rowOn(store, 1), rowOn(store, 0)]
  expect(await walked(walkOwned, store, rows)).toEqual(rows)
})

test('a walk over some buckets of a store without moves gives no row of others', async () => {
  const store = await storeOf(true)
  const rows = [rowOn(store, 1), rowOn(store, 1), rowOn(store, 0)]
  const some = bucketOfId(rows[0]!.id)
  const found = await walked(
    (context, read, options) => walkUnread(context, new Set([some]), read, options),
    store,
    rows,
  )
  expect(found).toEqual(rows.filter(({ id }) => bucketOfId(id) === some))
})
