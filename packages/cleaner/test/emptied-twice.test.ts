import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalog, tableSpec } from '@looseleaf/index-engine/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import { cleanIndex } from '../src/index.ts'
import { createWitnessKeeper } from '../src/tampering/keep-witnesses.ts'
import { byUser, expectedRows, openStore, rowsIn } from './stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'

test('an index that is filled again when its table is emptied does not become ready by the run before', async () => {
  const time = leapingTime()
  const driver = await memoryShards(2).connect()
  const store = await openStore({ driver, indexes: [byUser], time, onWarning: () => {} })
  for (let i = 0; i < 20; i++) await store.put({ user_id: `user ${i % 7}`, published: i })
  const stateOf = async (): Promise<unknown> => (await store.context.catalog.reload()).indexes[0]!.state
  const empty = async (): Promise<void> => {
    const rows = driver.shards[0]!.index(tableSpec(store.context.catalog.current().indexes[0]!))
    const existing = await rows.scan({ prefix: [], order: 'asc', limit: 100 })
    await rows.remove(existing.map((row) => ({ ...row, before: row.version + 1 })))
  }
  const isReady = (catalog: unknown): boolean => (catalog as ShardCatalog).indexes[0]!.state === 'ready'

  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: held, resolve: hold } = Promise.withResolvers<void>()
  const slow = faultyDriver(driver, ({ shard, table, operation, args: [next] }) =>
    shard === 0 && table === 'catalog' && operation === 'change' && isReady(next)
      ? { before: () => (hold(), released) }
      : undefined,
  )
  const worker = await openStore({ driver: slow, indexes: [], time, onWarning: () => {} })
  let isChanged = false
  let filling: Promise<unknown> | undefined
  const watched = faultyDriver(driver, ({ table, operation }) => {
    if (table === 'catalog' && operation === 'change') isChanged = true
    if (!isChanged || operation !== 'claimAll' || filling !== undefined) return undefined
    return {
      async before() {
        // Another cleaner has the index filled, and a worker is suspended before it makes the index ready.
        await changeCatalog(driver, (indexes) =>
          indexes.map((entry) => ({ ...entry, state: 'building' as const })),
        )
        filling = cleanIndex(worker, 'by_user')
        await held
        await empty()
      },
    }
  })
  const other = await openStore({ driver: watched, indexes: [], time, onWarning: () => {} })
  isChanged = false
  const keeper = createWitnessKeeper(other.context, { owner: 'one', isMine: () => true, settleMs: 0 })
  for (let look = 0; look < 3; look++) {
    if (look === 1) await empty()
    time.leap(60_000)
    await keeper.look({})
  }
  release()
  await filling
  expect(await stateOf()).toBe('building')
  await cleanIndex(store, 'by_user')
  expect(await stateOf()).toBe('ready')
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  for (const each of [store, worker, other]) await each.close()
})
