import { setTimeout as wait } from 'node:timers/promises'
import { LooseleafError, parseId, type Driver, type EntityId, type Time } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { entitiesIn, loadOwn, processName } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { checkIndexes, checkQueries, contentsOf, filledStore, openStore, SOME_BUCKETS } from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: SOME_BUCKETS }

const down = (): never => {
  throw new LooseleafError('SHARD_UNAVAILABLE', 'The server is down (a fault on purpose).')
}

async function storeWith(driver: Driver, plan: FaultPlan): Promise<DataStore> {
  return openStore(faultyDriver(driver, plan), leapingTime())
}

test.each([
  ['is announced', 'change'],
  ['is looked for', 'load'],
])('a move goes on although a shard fails four times while it %s', async (_, operation) => {
  const driver = await memoryShards(2).connect()
  const before = await contentsOf(await filledStore(driver, 50))
  let failures = 0
  const store = await storeWith(driver, ({ shard, table, operation: called }) =>
    shard === 1 && table === 'catalog' && called === operation && failures-- > 0
      ? { before: down }
      : undefined,
  )
  failures = 4
  expect(await store.shards.move(PLAN)).toMatchObject({ state: 'done' })
  failures = 4
  expect(await store.shards.repair()).toMatchObject({ moves: [] })
  expect(await contentsOf(await openStore(driver))).toEqual(before)
})

test('a move goes on although every other change of a catalog takes place without an answer', async () => {
  const driver = await memoryShards(2).connect()
  const before = await contentsOf(await filledStore(driver, 50))
  let changes = 0
  let isLosing = false
  const lost = (): never => {
    throw new LooseleafError('OUTCOME_UNKNOWN', 'The answer was lost (a fault on purpose).')
  }
  const store = await storeWith(driver, ({ table, operation }) =>
    isLosing && table === 'catalog' && operation === 'change' && changes++ % 2 === 0
      ? { after: lost }
      : undefined,
  )
  isLosing = true
  expect(await store.shards.move(PLAN)).toMatchObject({ state: 'done' })
  expect(changes).toBeGreaterThan(20)
  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  await checkIndexes(fresh)
})

test('a move rejects once its target has failed six times in a row, and goes on when it is back', async () => {
  const driver = await memoryShards(2).connect()
  const before = await contentsOf(await filledStore(driver, 50))
  let isDown = false
  const store = await storeWith(driver, ({ shard, operation }) =>
    isDown && shard === 1 && operation === 'receive' ? { before: down } : undefined,
  )
  isDown = true
  await expect(store.shards.move(PLAN)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect(await store.shards.moves()).toMatchObject([{ heldUpBy: expect.stringMatching(/server is down/) }])
  isDown = false
  expect(await store.shards.move(PLAN)).toMatchObject({ state: 'done' })
  expect(await contentsOf(await openStore(driver))).toEqual(before)
})

test('a move that fails under a seal has taken the seal away when it rejects', async () => {
  const driver = await memoryShards(2).connect()
  await (await filledStore(driver, 50)).close()
  let isSealed = false
  const store = await storeWith(driver, ({ shard, operation, args: [catalog] }) => {
    if (shard !== 0) return undefined
    const { serves } = (operation === 'change' ? catalog : {}) as Partial<ShardCatalog>
    if (serves?.leaving?.some(({ sealed }) => sealed !== undefined)) isSealed = true
    // The seal is taken away slowly.
    else if (isSealed && operation === 'change') return { before: () => wait(300) }
    if (!isSealed || operation !== 'pageOfChanges') return undefined
    return { before: () => Promise.reject(new LooseleafError('SHARD_DENIED', 'It is denied.')) }
  })
  await expect(store.shards.move(PLAN)).rejects.toMatchObject({ code: 'SHARD_DENIED' })
  expect(isSealed).toBe(true)
  const { leaving } = (await loadOwn(store.context, 0, {})).serves
  expect(leaving?.map(({ sealed }) => sealed)).toEqual([undefined])
})

test('a move rejects with its own error although its seal and its lease cannot be ended', async () => {
  const driver = await memoryShards(2).connect()
  await (await filledStore(driver, 50)).close()
  let isDenied = false
  const reject = (code: 'SHARD_DENIED' | 'SHARD_FULL') => ({
    before: () => Promise.reject(new LooseleafError(code, 'Refused (a fault on purpose).')),
  })
  const store = await storeWith(driver, ({ shard, table, operation, args: [catalog] }) => {
    const { serves } = (operation === 'change' ? catalog : {}) as Partial<ShardCatalog>
    if (isDenied && (table === 'tasks' || operation === 'change')) return reject('SHARD_FULL')
    isDenied ||= shard === 0 && serves?.leaving?.some(({ sealed }) => sealed !== undefined) === true
    if (!isDenied) return undefined
    return operation === 'pageOfChanges' ? reject('SHARD_DENIED') : undefined
  })
  await expect(store.shards.move(PLAN)).rejects.toMatchObject({ code: 'SHARD_DENIED' })
})

test('a copy that was in flight when the target crashed does not overwrite the later copy of a replaced entity', async () => {
  const driver = await memoryShards(2).connect()
  const writer = await filledStore(driver, 100)
  const ids: EntityId[] = [...(await contentsOf(writer)).keys()]
  const arrival = Promise.withResolvers<void>()
  let refusals = 3
  let isReplaced = false
  const replaceAll = async (): Promise<void> => {
    isReplaced = true
    for (const id of ids) await writer.update(id, (bag) => ({ ...bag, rank: 7 }))
  }
  const arrive = async (): Promise<void> => {
    arrival.resolve()
    await faulty.settled()
  }
  const faulty = faultyDriver(driver, ({ shard, operation, number }) => {
    if (shard !== 1) return undefined
    if (operation === 'receive') {
      if (number === 1) return { late: arrival.promise }
      return isReplaced ? undefined : { after: replaceAll }
    }
    if (operation === 'checksums') return { before: arrive }
    return operation === 'change' && refusals-- > 0 ? { before: down } : undefined
  })
  const store = await openStore(faulty, leapingTime())
  const report = await store.shards.move(PLAN)
  expect(refusals).toBeLessThan(0)
  expect(report).toMatchObject({ state: 'done' })
  await writer.close()
  const fresh = await openStore(driver)
  for (const text of (await contentsOf(fresh)).values())
    expect(JSON.parse(text)[1]).toMatchObject({ rank: 7 })
  await checkQueries(fresh)
  await checkIndexes(fresh)
})

test('a verification is stale once entities are written after it, and names its rows, time and process', async () => {
  const driver = await memoryShards(2).connect()
  const writer = await filledStore(driver, 100)
  const isIn = entitiesIn(writer.context, SOME_BUCKETS)
  const ids = [...(await contentsOf(writer)).keys()].filter((id) => isIn(parseId(id)))
  expect(await writer.shards.move(PLAN)).toMatchObject({
    verified: { at: expect.any(Date), by: processName, stale: false },
  })
  let isWritten = false
  const store = await storeWith(driver, ({ shard, operation, table }) => {
    // Rows of an index are compared after the entities.
    if (shard !== 0 || operation !== 'rowsOf' || table !== 'indexes' || isWritten) return undefined
    isWritten = true
    return { after: async () => void (await writer.update(ids[0]!, (bag) => ({ ...bag, rank: 8 }))) }
  })
  const back = await store.shards.move({ from: 1, to: 0, buckets: SOME_BUCKETS })
  expect(isWritten).toBe(true)
  expect(back.verified).toMatchObject({ stale: true })
  expect(back.verified!.rows).toBeGreaterThan(ids.length)
})

test('a rate limit makes pages short, so that no wait is longer than about a second and the mover keeps its lease', async () => {
  const driver = await memoryShards(2).connect()
  await filledStore(driver, 200)
  const time = leapingTime()
  const sleeps: number[] = []
  const sleep: Time['sleep'] = (milliseconds, signal) => {
    sleeps.push(milliseconds)
    return time.sleep(milliseconds, signal)
  }
  const store = await openStore(driver, { ...time, sleep })
  let copying: readonly number[] = []
  const { counts } = await store.shards.move(PLAN, {
    rowsPerSecond: 20,
    onProgress: ({ step }) => void (step === 'copying' && (copying = [...sleeps])),
  })
  expect(copying.reduce((a, b) => a + b, 0)).toBeGreaterThan((counts.entities / 20) * 900)
  expect(Math.max(...copying)).toBeLessThanOrEqual(1_050)
})

test('failures of a shard before some progress do not count', async () => {
  const driver = await memoryShards(2).connect()
  await filledStore(driver, 30)
  let failing = 0
  let failed = 0
  const store = await storeWith(driver, ({ shard, table, operation }) => {
    if (shard !== 1 || failing <= 0 || table !== 'catalog' || operation !== 'change') return undefined
    failing--
    failed++
    return { before: down }
  })
  let step = ''
  const report = await store.shards.move(PLAN, {
    onProgress: (progress) => {
      if (progress.step === step || progress.step === 'done') return
      step = progress.step
      failing = 4
    },
  })
  expect(report).toMatchObject({ state: 'done' })
  expect(failed).toBeGreaterThan(6)
})
