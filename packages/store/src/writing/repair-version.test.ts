import { LooseleafError, parseId, type Shard } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { expect, it, onTestFinished } from 'vitest'
import { DataStore } from '../data-store.ts'
import { repairVersion } from './repair-version.ts'

const byUser = defineIndex('by_user', { properties: { user: 'string' }, shardOn: 'user' })
const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })

const drivers = {
  SQLite: memoryShards(2),
  'the reference driver': keepOpen(createReferenceDriver({ shards: 2 })),
}

/** A version too great to be read. An early release wrote such versions by a clock past the year 2255. */
const FAR = 9_100_000_000_000_000

it.each(Object.entries(drivers))(
  'an entity that was written in the year 2258 can be read, found, changed and replaced after its repair: %s',
  async (_, shards) => {
    const store = await DataStore.open({ shards, indexes: [byUser, byMail], migrate: true, queryTimeMs: 1 })
    onTestFinished(() => store.close())
    const { context } = store
    const id = store.newId()
    const bag = { user: 'ada', mail: 'ada@example.org' }
    // The write path of that release, whose clock had no limit.
    const { clock } = context
    Object.assign(context, { clock: { next: () => FAR } })
    await store.put(bag, { id })
    Object.assign(context, { clock })
    await expect(store.get(id)).rejects.toMatchObject({ code: 'BODY_DAMAGED' })
    await expect(store.put(bag, { id })).rejects.toMatchObject({ code: 'BODY_DAMAGED', entity: id })

    expect(await repairVersion(context, id)).toBe(true)
    expect(await repairVersion(context, id)).toBe(false)
    expect(await store.get(id)).toEqual({ id, ...bag })
    const rows = await Promise.all(
      context.driver.shards.map((shard) => shard.rowsOf(specsOf(store), [parseId(id)])),
    )
    const [current] = await ownShard(store, id).entities.readVersions([parseId(id)])
    for (const { version } of rows.flat(2)) expect(version).toBeLessThan(current!)
    expect((await store.query(byUser, { user: 'ada' })).items).toMatchObject([{ id }])

    // Its lost rows are deleted. A stamp above every version would have kept them.
    await store.put({ user: 'bob', mail: 'bob@example.org' }, { id })
    await store.settled()
    const stored = await Promise.all(
      context.driver.shards.map((shard) => shard.rowsOf(specsOf(store), [parseId(id)])),
    )
    // One row of each index, and the claim.
    const texts = stored.flat(2).map(({ key }) => Buffer.from(key[0] as Uint8Array).toString())
    expect(texts.toSorted()).toEqual(['bob', 'bob@example.org', 'bob@example.org'])
    const other = await store.put({ user: 'eve', mail: 'ada@example.org' })
    expect(await store.get(other.id)).toMatchObject({ mail: 'ada@example.org' })
  },
)

it('a row of an attempt of the year 2258 gives no answer after the repair of its entity', async () => {
  const store = await DataStore.open({ shards: memoryShards(1), indexes: [byUser], migrate: true })
  onTestFinished(() => store.close())
  const { context } = store
  const id = store.newId()
  await store.put({ user: 'ada' }, { id })
  const [shard] = context.driver.shards
  const [spec] = specsOf(store)
  const table = shard!.index(spec!)
  const [stored] = await table.scan({ prefix: [], order: 'asc', limit: 1 })
  const { clock } = context
  Object.assign(context, { clock: { next: () => FAR } })
  await store.put({ user: 'bob' }, { id })
  Object.assign(context, { clock })
  await table.upsert([{ ...stored!, version: FAR + 2 }])

  expect(await repairVersion(context, id)).toBe(true)
  expect(await store.count(byUser, { user: 'ada' })).toBe(0)
  expect(await store.count(byUser, { user: 'bob' })).toBe(1)
})

it('an entity gets its version after the rows of every shard have their stamps', async () => {
  const memory = await memoryShards(2).connect()
  const calls: string[] = []
  const slow = faultyDriver(memory, ({ shard, operation }) => {
    if (operation === 'repairVersion') calls.push(operation)
    if (operation !== 'repairStamps') return undefined
    const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5 * shard))
    return { before: pause, after: () => void calls.push(`${operation} ${shard}`) }
  })
  const store = await DataStore.open({ shards: keepOpen(slow), indexes: [byUser], migrate: true })
  onTestFinished(async () => {
    await store.close()
    await memory.close()
  })
  const { id } = await store.put({ user: 'ada' })
  expect(await repairVersion(store.context, id)).toBe(false)
  expect(calls).toEqual(['repairStamps 0', 'repairStamps 1', 'repairVersion'])
})

it('a repair passes an index that is being dropped, and ends at any other failure before the version changes', async () => {
  const memory = await memoryShards(2).connect()
  let code: 'INDEX_NOT_FOUND' | 'SHARD_UNAVAILABLE' = 'INDEX_NOT_FOUND'
  let repairs = 0
  const driver = faultyDriver(memory, ({ operation, shard }) => {
    if (operation === 'repairVersion') repairs++
    return operation === 'repairStamps' && shard === 1
      ? { before: () => Promise.reject(new LooseleafError(code, 'On purpose.')) }
      : undefined
  })
  const store = await DataStore.open({ shards: keepOpen(driver), indexes: [byUser], migrate: true })
  onTestFinished(async () => {
    await store.close()
    await memory.close()
  })
  const { id } = await store.put({ user: 'ada' })
  expect(await repairVersion(store.context, id)).toBe(false)
  expect(repairs).toBe(1)
  code = 'SHARD_UNAVAILABLE'
  await expect(repairVersion(store.context, id)).rejects.toMatchObject({ code })
  expect(repairs).toBe(1)
})

it('a process whose clock is past the year 2255 rejects writes with the reason', async () => {
  let now = Date.UTC(2256, 0)
  const time = { now: () => now, elapsed: () => performance.now(), sleep: async () => {} }
  const shards = memoryShards(2)
  const store = await DataStore.open({ shards, indexes: [byUser], migrate: true, time })
  onTestFinished(() => store.close())
  const id = store.newId()
  const refused = { code: 'BAD_CLOCK', message: expect.stringContaining('2256-01-01') as unknown }
  await expect(store.put({ user: 'ada' }, { id })).rejects.toMatchObject(refused)
  now = Date.now()
  expect(await store.get(id)).toBeUndefined()
  const { version } = await store.put({ user: 'ada' }, { id })
  now = Date.UTC(2300, 0)
  await expect(store.update(id, () => ({ user: 'bob' }))).rejects.toMatchObject({ code: 'BAD_CLOCK' })
  await expect(store.delete(id)).rejects.toMatchObject({ code: 'BAD_CLOCK' })
  now = Date.now()
  expect((await store.put({ user: 'eve' }, { id, ifVersion: version })).id).toBe(id)
})

function specsOf(store: DataStore): Parameters<Shard['rowsOf']>[0] {
  return store.context.catalog.current().indexes.map((entry) => tableSpec(entry))
}

function ownShard(store: DataStore, id: string): Shard {
  return store.context.driver.shards[store.context.router.shardOfId(parseId(id))] as Shard
}
