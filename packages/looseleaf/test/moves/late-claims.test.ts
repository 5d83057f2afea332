import { formatId, parseId, type Driver, type Time } from '@looseleaf/core'
import type { CatalogEntry, ClaimTable, IndexRow, ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents, tableSpec } from '@looseleaf/index-engine/internal'
import { moveBuckets, movesOf } from '@looseleaf/mover/internal'
import { announceMove, copyIndexRows, createThrottle, type MoveWork } from '@looseleaf/protocol/internal'
import { DataStore, type MoveProgress } from '@looseleaf/store'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { expect, onTestFinished, test } from 'vitest'
import { byName } from './stores.ts'

/** Without any claim that waits. */
const byNumber = defineIndex('by_number', {
  properties: { number: 'string' },
  shardOn: 'number',
  unique: true,
})
const indexes = [byName, byNumber]

interface Opened {
  readonly driver: Driver
  readonly time: LeapingTime
  readonly store: DataStore
}

async function openDelayed(deleteDelayMs: number): Promise<Opened> {
  const driver = await memoryShards(2).connect()
  const time = leapingTime()
  const shards = keepOpen(driver)
  const store = await DataStore.open({ shards, indexes, migrate: true, deleteDelayMs, time })
  onTestFinished(() => store.close())
  return { driver, time, store }
}

test('a move waits until its target can take over the claim of an attempt that a failover may restore', async () => {
  const { driver, time, store } = await openDelayed(60_000)
  const { catalog, router } = store.context
  const claims = tableSpec(
    catalog.current().indexes.find((entry) => entry.unique && entry.name === byName.name)!,
  )
  const name = ['a', 'b', 'c', 'd', 'e'].find((text) => router.shardOfKey(Buffer.from(text)) === 0)!
  const { id } = await store.put({ name })
  // An earlier move was undone after this attempt had begun. It has died since.
  const dead = Buffer.alloc(16, 7)
  await driver.shards[1]!.claims(claims).take([
    { key: [Buffer.from(name)], entityId: dead, version: time.now() * 1000 },
  ])
  const waits: unknown[] = []
  const later = new Set<unknown>()
  const sleeping: Time = {
    ...time,
    async sleep(milliseconds, signal) {
      await time.sleep(milliseconds, signal)
      const [move] = await movesOf(store)
      if (move?.state === 'checking') waits.push([milliseconds, move.heldUpBy])
      if (move?.state === 'switching') later.add(move.heldUpBy)
    },
  }
  const mover = await DataStore.open({ shards: keepOpen(driver), indexes, time: sleeping })
  onTestFinished(() => mover.close())
  expect(await moveBuckets(mover, { from: 0, to: 1, buckets: '0-2047' })).toMatchObject({ state: 'done' })
  // The lease is renewed each ten seconds of the wait, which is as long as `deleteDelayMs`.
  expect(waits).toContainEqual([
    10_000,
    'other entities that compete for 1 of its claims, or that a failover may restore with their keys (deleteDelayMs)',
  ])
  expect([...later]).toEqual([undefined])
  const [claim] = await driver.shards[1]!.index(claims).scan({ prefix: [], order: 'asc', limit: 1 })
  expect(formatId(claim!.entityId)).toBe(id)
  await expect(store.put({ name })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
})

test('a move takes a key at its target from an entity that does not hold it at the source', async () => {
  const driver = await memoryShards(2).connect()
  const shards = keepOpen(driver)
  const before = await DataStore.open({ shards, migrate: true })
  const name = ['a', 'b', 'c', 'd', 'e'].find(
    (text) => before.context.router.shardOfKey(Buffer.from(text)) === 0,
  )!
  const [first, second] = await before.putMany([{}, { name }])
  await before.close()
  const time = leapingTime()
  const store = await DataStore.open({ shards, indexes: [byName], migrate: true, time })
  onTestFinished(() => store.close())
  const { id } = await store.put({ name }, { id: first!.id })
  const claims = tableSpec(store.context.catalog.current().indexes.find(({ unique }) => unique)!)
  // A process fills claims by the catalog of an earlier move, which brought the key to shard 1.
  const key = [Buffer.from(name)]
  await driver.shards[1]!.claims(claims).take([
    { key, entityId: parseId(second!.id), version: second!.version },
  ])
  expect(await moveBuckets(store, { from: 0, to: 1, buckets: '0-2047' })).toMatchObject({
    state: 'done',
    counts: { claims: 1, late: 0 },
  })
  const [claim] = await driver.shards[1]!.index(claims).scan({ prefix: [], order: 'asc', limit: 1 })
  expect(formatId(claim!.entityId)).toBe(id)
})

interface OneKey {
  readonly driver: Driver
  readonly work: MoveWork
  readonly entry: CatalogEntry
  /** The claim of the entity that has the key at the target. */
  readonly claim: IndexRow
  claimsOn(shard: number): ClaimTable
  claimOn(shard: number): Promise<IndexRow>
}

/** Announces a move of a key that one entity has at the source, and another one at the target. */
async function twoWithOneKey(plan: FaultPlan = () => undefined): Promise<OneKey> {
  const driver = await memoryShards(2).connect()
  const before = await DataStore.open({ shards: keepOpen(driver), migrate: true })
  const name = ['a', 'b', 'c', 'd', 'e'].find(
    (text) => before.context.router.shardOfKey(Buffer.from(text)) === 0,
  )!
  const [first, second] = await before.putMany([{}, { name }])
  await before.close()
  const shards = keepOpen(faultyDriver(driver, plan))
  const store = await DataStore.open({ shards, indexes: [byName], migrate: true, time: leapingTime() })
  onTestFinished(() => store.close())
  await store.put({ name }, { id: first!.id })
  const { context } = store
  const entry = context.catalog.current().indexes.find(({ unique }) => unique)!
  const claim = { key: [Buffer.from(name)], entityId: parseId(second!.id), version: second!.version }
  const claimsOn = (shard: number): ClaimTable => driver.shards[shard]!.claims(tableSpec(entry))
  await claimsOn(1).take([claim])
  const move = await announceMove(context, { from: 0, to: 1, buckets: '0-2047' })
  return {
    driver,
    work: { context, move, throttle: createThrottle(context.time, undefined), signal: undefined },
    entry,
    claim,
    claimsOn,
    async claimOn(shard) {
      const table = driver.shards[shard]!.index(tableSpec(entry))
      return (await table.scan({ prefix: [], order: 'asc', limit: 1 }))[0]!
    },
  }
}

test('a key that another entity takes at the source while the target is looked at stays its own at the target', async () => {
  let isLooked = false
  const { work, entry, claim, claimsOn, claimOn } = await twoWithOneKey(({ shard, operation }) =>
    isLooked && shard === 1 && operation === 'rowsOf' ? { before: takeBySecond } : undefined,
  )
  async function takeBySecond(): Promise<void> {
    isLooked = false
    const version = 1 + (await claimOn(0)).version
    await claimsOn(0).swap(await claimOn(0), { ...claim, version })
    await claimsOn(1).take([{ ...claim, version }])
  }
  isLooked = true
  await copyIndexRows(work, entry, { comparing: false })
  expect(isLooked).toBe(false)
  expect((await claimOn(1)).entityId).toEqual(claim.entityId)
})

test('a mover frees no key once another move has got the number of its own by a failover', async () => {
  const { driver, work, entry, claim, claimOn } = await twoWithOneKey()
  await changeCatalogContents(driver, ({ layout, ...contents }) => ({
    ...contents,
    layout: { ...layout!, moves: [{ ...work.move, from: 1, to: 0, buckets: '4000' }] },
  }))
  await expect(copyIndexRows(work, entry, { comparing: false })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'Move 1 cannot go on here: it has ended.',
  })
  expect((await claimOn(1)).entityId).toEqual(claim.entityId)
})

test('a claim that a filler takes at the source, while the target frees its key, is taken at the target by another pass', async () => {
  const driver = await memoryShards(2).connect()
  const before = await DataStore.open({ shards: keepOpen(driver), migrate: true })
  const name = ['a', 'b', 'c', 'd', 'e'].find(
    (text) => before.context.router.shardOfKey(Buffer.from(text)) === 0,
  )!
  const [first, second] = await before.putMany([{ name }, { name }])
  await before.close()
  const claimOf = ({ id, version }: { readonly id: string; readonly version: number }): IndexRow => ({
    key: [Buffer.from(name)],
    entityId: parseId(id),
    version,
  })
  /** Steps of fillers, in their order. */
  const steps: { readonly shard: number; readonly operation: string; run(): Promise<void> }[] = [
    {
      shard: 0,
      operation: 'scan',
      async run() {
        await driver.shards[0]!.claims(claims).take([claimOf(first!)])
        await driver.shards[1]!.claims(claims).take([claimOf(second!)])
      },
    },
    {
      shard: 1,
      operation: 'remove',
      async run() {
        await store.put({}, { id: first!.id })
        await store.settled()
        for (const shard of driver.shards) await shard.claims(claims).take([claimOf(second!)])
      },
    },
  ]
  let isChecking = false
  const attempts = new Set<number>()
  const plan: FaultPlan = ({ shard, table, operation, args }) => {
    if (shard === 0 && operation === 'change')
      for (const { attempt } of (args[0] as ShardCatalog).serves?.leaving ?? []) attempts.add(attempt)
    const [step] = steps
    if (!isChecking || step === undefined || table !== claims.table) return undefined
    if (step.shard !== shard || step.operation !== operation) return undefined
    steps.shift()
    return { before: () => step.run() }
  }
  const shards = keepOpen(faultyDriver(driver, plan))
  const time = leapingTime()
  const waits = new Set<number>()
  const sleeping: Time = {
    ...time,
    sleep(milliseconds, signal) {
      waits.add(milliseconds)
      return time.sleep(milliseconds, signal)
    },
  }
  const store = await DataStore.open({ shards, indexes: [byName], migrate: true, time: sleeping })
  onTestFinished(() => store.close())
  const claims = tableSpec(store.context.catalog.current().indexes.find(({ unique }) => unique)!)
  const onProgress = ({ step }: MoveProgress): void => void (isChecking = step === 'checking')
  const buckets = '0-2047'
  const pollMs = 499
  expect(await moveBuckets(store, { from: 0, to: 1, buckets }, { onProgress, pollMs })).toMatchObject({
    state: 'done',
  })
  expect(steps).toEqual([])
  expect(waits).not.toContain(pollMs)
  // A target that loses the claim by a failover must lack the last attempt: one to copy, one to compare, and one after the key was freed.
  expect(attempts.size).toBe(3)
  const [taken] = await driver.shards[1]!.index(claims).scan({ prefix: [], order: 'asc', limit: 1 })
  expect(formatId(taken!.entityId)).toBe(second!.id)
})

test('a key that an entity gave up stays reserved through a move, because a failover may restore the entity with it', async () => {
  const { time, store } = await openDelayed(600_000)
  const { router } = store.context
  const [before, after] = ['a', 'b', 'c', 'd', 'e', 'f'].filter(
    (text) => router.shardOfKey(Buffer.from(text)) === 0,
  )
  const { id } = await store.put({ name: before })
  await store.put({ name: after }, { id })
  const refusal = { code: 'CONFLICT', holder: id }
  await expect(store.put({ name: before })).rejects.toMatchObject(refusal)
  expect(await moveBuckets(store, { from: 0, to: 1, buckets: '0-2047' })).toMatchObject({ state: 'done' })
  await expect(store.put({ name: before })).rejects.toMatchObject(refusal)
  time.leap(600_000)
  await store.put({ name: before })
})
