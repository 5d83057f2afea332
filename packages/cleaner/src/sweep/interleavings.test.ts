import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { watchedDriver } from '../../test/broken-driver.ts'
import {
  addRow,
  byUser,
  expectedRows,
  openStore,
  removeRow,
  rowFor,
  rowsIn,
  found,
} from '../../test/stores.ts'
import { sweepEntities, sweepIndex } from '../../test/sweeps.ts'

const ada = { user_id: 'ada', published: 1 }
const bob = { user_id: 'bob', published: 1 }

/** Opens a writer and a cleaner on the same shards; `act` runs just before the cleaner's first call of this method. */
async function interleaved(
  method: string,
  act: (writer: DataStore) => Promise<unknown>,
): Promise<{ writer: DataStore; cleaner: DataStore; hasActed: () => boolean }> {
  const driver = await memoryShards(2).connect()
  const writer = await openStore({ driver, indexes: [byUser] })
  let hasActed = false
  const cleaner = await openStore({
    driver: watchedDriver(driver, async (_, called) => {
      if (called !== method || hasActed) return
      hasActed = true
      await act(writer)
      await writer.settled()
    }),
    indexes: [byUser],
  })
  return { writer, cleaner, hasActed: () => hasActed }
}

test('a row that a writer regains just before the cleaner deletes it stays', async () => {
  let id = ''
  const { writer, cleaner, hasActed } = await interleaved('remove', (store) => store.put(ada, { id }))
  const created = await writer.put(bob)
  id = created.id
  await addRow(writer, 'by_user', rowFor(writer, 'by_user', id, ada, created.version))
  expect(await sweepIndex(cleaner)).toMatchObject({ removed: 0 })
  expect(hasActed()).toBe(true)
  expect(await found(writer, byUser, { user_id: 'ada' })).toHaveLength(1)
  expect(await rowsIn(writer, 'by_user')).toEqual(await expectedRows(writer, 'by_user'))
})

test('a row that a writer regains after the fence stays', async () => {
  let id = ''
  const { writer, cleaner, hasActed } = await interleaved('remove', (store) => store.put(ada, { id }))
  const created = await writer.put(bob)
  id = created.id
  await addRow(writer, 'by_user', rowFor(writer, 'by_user', id, ada, created.version + 1))
  expect(await sweepIndex(cleaner, { graceMs: 0 })).toMatchObject({ fenced: 1, removed: 0 })
  expect(hasActed()).toBe(true)
  expect(await found(writer, byUser, { user_id: 'ada' })).toHaveLength(1)
})

test('a row that was added after its entity lost it is deleted by the second look', async () => {
  let id = ''
  const { writer, cleaner, hasActed } = await interleaved('upsert', (store) => store.put(bob, { id }))
  id = (await writer.put(ada)).id
  await removeRow(writer, 'by_user', rowFor(writer, 'by_user', id, ada, 0))
  expect(await sweepEntities(cleaner)).toMatchObject({ added: 1, removed: 1 })
  expect(hasActed()).toBe(true)
  expect(await rowsIn(writer, 'by_user')).toEqual(await expectedRows(writer, 'by_user'))
})

test('a row that was added after its entity was deleted is deleted by the second look', async () => {
  let id = ''
  const { writer, cleaner } = await interleaved('upsert', (store) => store.delete(id))
  id = (await writer.put(ada)).id
  await removeRow(writer, 'by_user', rowFor(writer, 'by_user', id, ada, 0))
  expect(await sweepEntities(cleaner)).toMatchObject({ added: 1, removed: 1 })
  expect(await rowsIn(writer, 'by_user')).toEqual([])
})
