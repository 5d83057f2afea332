import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets } from '@looseleaf/mover/internal'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { DataStore, defineIndex } from '../../src/index.ts'

const byUser = defineIndex('by_user', { properties: { user: 'string' }, shardOn: 'user' })
/** Their rows are on shard 1. */
const ada = { user: 'ada' }
const ENTITIES = 20

/** The ways of reading all entities. Each returns their number, or the reason why it has none. */
const ways = {
  async query(store: DataStore): Promise<number | string> {
    const { items, cost } = await store.query(byUser, ada, { limit: 100 })
    return cost.complete ? items.length : 'incomplete'
  },
  async getAll(store: DataStore): Promise<number | string> {
    const reading = store.getAll(byUser, ada)
    return reading.then(
      ({ length }) => length,
      ({ code }: { readonly code: string }) => code,
    )
  },
  count: (store: DataStore): Promise<number> => store.count(byUser, ada),
  shortCountOfRows: (store: DataStore): Promise<number> => store.count(byUser, ada, { exact: false }),
  countOfRows: (store: DataStore): Promise<number> =>
    store.count(byUser, { user: { in: ['ada', 'grace'] } }, { exact: false }),
}

test.each([
  ['query', 'an answer about pending rows', ['pending', 'tables'], 'incomplete'],
  ['query', 'the catalog', ['catalog', 'load'], 'incomplete'],
  ['query', 'a scan', ['by_user', 'scan'], 'incomplete'],
  ['getAll', 'the catalog', ['catalog', 'load'], 'DEADLINE'],
  ['count', 'the catalog', ['catalog', 'load'], ENTITIES],
  ['count', 'a scan', ['by_user', 'scan'], ENTITIES],
  ['shortCountOfRows', 'the catalog', ['catalog', 'load'], ENTITIES],
  ['shortCountOfRows', 'a short count', ['by_user', 'countShort'], ENTITIES],
  ['countOfRows', 'the catalog', ['catalog', 'load'], ENTITIES],
  ['countOfRows', 'a count', ['by_user', 'count'], ENTITIES],
] as const)(
  'a read by %s that waits for %s while index rows move misses no entity in silence',
  async (way, _, [of, call], expected) => {
    const driver = await memoryShards(2).connect()
    const time = leapingTime()
    const open = { indexes: [byUser], time }
    const mover = await DataStore.open({
      ...open,
      shards: keepOpen(driver),
      migrate: true,
      queryTimeMs: 500,
      onIndexFailure: 'defer',
    })
    await mover.putMany(Array.from({ length: ENTITIES }, () => ada))
    let isArmed = false
    const move = async (): Promise<void> => {
      expect(await moveBuckets(mover, { from: 1, to: 0, buckets: '2048-4095' })).toMatchObject({
        state: 'done',
      })
    }
    const slow = faultyDriver(driver, ({ shard, table, operation }) => {
      if (!isArmed || shard !== 1 || !table.endsWith(of) || !operation.startsWith(call)) return undefined
      isArmed = false
      return of === 'by_user' ? { before: move } : { after: move }
    })
    const reader = await DataStore.open({ ...open, shards: keepOpen(slow) })
    // So long that the reader looks at the catalog again.
    time.leap(60_000)
    isArmed = true
    expect(await ways[way](reader)).toBe(expected)
    expect(isArmed).toBe(false)
    expect(await ways[way](reader)).toBe(ENTITIES)
    await Promise.all([reader.close(), mover.close()])
    await driver.close()
  },
)
