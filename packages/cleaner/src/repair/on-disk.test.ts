import { parseId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver, unknownOutcome, type FaultPlan } from '@looseleaf/testkit'
import type { DataStore } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { addRow, byUser, expectedRows, found, openStore, rowFor, rowsIn } from '../../test/stores.ts'
import { sweepIndex } from '../../test/sweeps.ts'

const ada = { user_id: 'ada', published: 1 }
const eve = { user_id: 'eve', published: 1 }

/** Opens a store that records its statements; `onFlush` runs before each flush. */
async function watched(onFlush?: () => void): Promise<{ store: DataStore; sent: string[] }> {
  const sent: string[] = []
  const plan: FaultPlan = ({ shard, operation }) => {
    sent.push(operation === 'flush' ? `flush ${shard}` : operation)
    return operation === 'flush' && onFlush ? { before: onFlush } : undefined
  }
  const store = await openStore({ driver: faultyDriver(await memoryShards(2).connect(), plan) })
  return { store, sent }
}

/** Puts an entity, and adds a row that it does not have. */
async function withDangling(store: DataStore): Promise<string> {
  const { id, version } = await store.put(ada)
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, version))
  return id
}

test('a row is deleted only after the version that was read is durable', async () => {
  const { store, sent } = await watched()
  const id = await withDangling(store)
  sent.length = 0
  expect(await sweepIndex(store, { indexes: 'by_user' })).toMatchObject({ removed: 1 })
  const { router } = store.context
  const flushed = `flush ${router.shardOfId(Buffer.from(id.replaceAll('-', ''), 'hex'))}`
  expect(sent.filter((operation) => operation.startsWith('flush'))).toEqual([flushed])
  expect(sent.indexOf('readBounded')).toBeLessThan(sent.indexOf(flushed))
  expect(sent.indexOf(flushed)).toBeLessThan(sent.indexOf('remove'))
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test('a row stays if the flush fails', async () => {
  const { store, sent } = await watched(() => {
    throw unknownOutcome()
  })
  await withDangling(store)
  await expect(sweepIndex(store)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  expect(sent).not.toContain('remove')
  expect(await rowsIn(store, 'by_user')).toHaveLength(2)
})

test('a sweep without dangling rows does not flush', async () => {
  const { store, sent } = await watched()
  await store.put(ada)
  await sweepIndex(store)
  expect(sent.filter((operation) => operation.startsWith('flush'))).toEqual([])
})

test('a row stays if the server restarts before the flush without the version that was read', async () => {
  const driver = await memoryShards(2).connect()
  const made = await openStore({ driver })
  const { id, version: first } = await made.put(ada)
  const { version: undone } = await made.put(eve, { id })
  await made.settled()
  await addRow(made, 'by_user', rowFor(made, 'by_user', id, ada, first))
  const { router, catalog, codec } = made.context
  const number = router.shardOfId(parseId(id))
  let isBack = false
  const store = await openStore({
    driver: faultyDriver(driver, ({ operation }) =>
      operation !== 'flush' || isBack
        ? undefined
        : {
            async before() {
              isBack = true
              const row = { id: parseId(id), base: undone, version: first, body: codec.encode(ada) }
              const epoch = catalog.current().epochs[number] ?? 0
              await driver.shards[number]?.entities.replace([row], { epoch })
            },
          },
    ),
  })
  expect(await sweepIndex(store, { indexes: 'by_user' })).toMatchObject({ removed: 0 })
  expect(isBack).toBe(true)
  expect(await found(store, byUser, { user_id: 'ada' })).toHaveLength(1)
})
