import { metaOf, parseId, type Driver, type EntityId, type Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { DataStore, type DataStoreOptions } from '@looseleaf/store'
import { type FaultPlan, faultyDriver, keepOpen } from '@looseleaf/testkit'
import { farRouter } from '@looseleaf-tooling/kit/far-router'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cleanIndex, sweep } from '../src/index.ts'
import { drainPending } from '../src/internal.ts'
import { refuseUpserts } from './refuse-upserts.ts'

/*
 * Processes that are held up between two statements for very long, and then continue with outdated knowledge.
 */

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const DELAY_MS = 60_000

let memory: Driver
let plan: FaultPlan
let heldUpFor: number
const opened: DataStore[] = []
let onSleep: (milliseconds: number) => Promise<void>
const time: Time = { now: () => Date.now() + heldUpFor, sleep: (milliseconds) => onSleep(milliseconds) }

async function open(options: Partial<DataStoreOptions>): Promise<DataStore> {
  const shards = keepOpen(faultyDriver(memory, (call) => plan(call)))
  // Local rows would be in the transaction of their entity, which no process dies within.
  const router = farRouter()
  const store = await DataStore.open({ shards, router, indexes: [byName], migrate: true, time, ...options })
  opened.push(store)
  return store
}

const find = async (store: DataStore, name: string): Promise<EntityId[]> =>
  (await store.getAll(byName, { name })).map((entity) => entity.id)

/** Fails over to a replica that has the entity at an earlier version. */
async function failOver(
  store: DataStore,
  id: EntityId,
  undone: number,
  version: number,
  name: string,
): Promise<void> {
  const { router, catalog, codec } = store.context
  const shard = router.shardOfId(parseId(id))
  const row = { id: parseId(id), base: undone, version, body: codec.encode({ name }) }
  const epoch = catalog.current().epochs[shard] ?? 0
  expect(await memory.shards[shard]?.entities.replace([row], { epoch })).toEqual([true])
}

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  plan = () => undefined
  heldUpFor = 0
  onSleep = async () => {}
})
afterEach(async () => {
  plan = () => undefined
  await Promise.all(opened.splice(0).map((store) => store.close()))
  await memory.close()
})

describe('a writer that is held up before it deletes a lost row', () => {
  it('a late delete spares a row that a deferred write gained again and the cleaner has written', async () => {
    const store = await open({ onIndexFailure: 'defer' })
    const { id } = await store.put({ name: 'one' })
    const resume = Promise.withResolvers<void>()
    plan = ({ operation, table }) =>
      operation === 'remove' && table === 'index_by_name' ? { before: () => resume.promise } : undefined
    await store.put({ name: 'two' }, { id })

    plan = refuseUpserts
    expect((await store.put({ name: 'one' }, { id })).indexed).toBe(false)
    plan = () => undefined
    expect(await drainPending(store)).toBe(1)
    resume.resolve()
    await store.settled()
    expect(await find(store, 'one')).toEqual([id])
  })
})

describe('a row that has fallen back to an earlier version in a failover', () => {
  it('a restarted clean rewrites a row that fell back, so that a late delete spares it', async () => {
    const store = await open({})
    const { id, version } = await store.put({ name: 'one' })
    const [isHeldUp, resume] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    plan = ({ operation, table }) =>
      operation === 'remove' && table === 'index_by_name'
        ? {
            before() {
              isHeldUp.resolve()
              return resume.promise
            },
          }
        : undefined
    await store.put({ name: 'two' }, { id })
    await isHeldUp.promise
    plan = () => undefined
    const { version: last } = await store.put({ name: 'one' }, { id })

    const { catalog, router } = store.context
    const spec = tableSpec(catalog.current().indexes[0]!)
    const table = memory.shards[router.shardOfKey(Buffer.from('one'))]!.index(spec)
    const row = { key: [Buffer.from('one')], entityId: parseId(id) }
    expect(await table.remove([{ ...row, before: last + 1 }])).toBe(1)
    await table.upsert([{ ...row, version }])
    await cleanIndex(store, 'by_name', { restart: true })
    resume.resolve()
    await store.settled()
    expect(await find(store, 'one')).toEqual([id])
  })
})

describe('an index that is filled while a failover may lose commits', () => {
  it('a filling writes the row of a version that a failover brings back while the commit that it read is young', async () => {
    const store = await open({ deleteDelayMs: DELAY_MS, indexes: [] })
    const { id, version } = await store.put({ name: 'one' })
    const second = await store.put({ name: 'two' }, { id })
    await store.addIndex(byName)
    const states: string[] = []
    onSleep = async (milliseconds) => {
      if (milliseconds < DELAY_MS) return
      states.push(...(await store.indexes()).map(({ state }) => state))
      expect(store.context.catalog.current().indexes).toHaveLength(1)
      await failOver(store, id, second.version, version, 'one')
    }
    const [filled] = (await cleanIndex(store, 'by_name')).indexes
    expect(states).toEqual(['building'])
    expect(filled).toMatchObject({ state: 'ready' })
    expect(await find(store, 'one')).toEqual([id])
  })

  it('a clean of a ready index does not wait for possible failovers', async () => {
    const store = await open({ deleteDelayMs: DELAY_MS })
    await store.put({ name: 'one' })
    let slept = 0
    onSleep = async (milliseconds) => void (slept += milliseconds)
    await cleanIndex(store, 'by_name')
    expect(slept).toBeLessThan(DELAY_MS)
  })
})

describe('a writer that was fenced', () => {
  it('a fenced writer keeps its row while a failover can undo the fence', async () => {
    const store = await open({ deleteDelayMs: DELAY_MS })
    const { id, version } = await store.put({ name: 'one' })
    const [isHeldUp, resume] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let commits = 0
    plan = ({ operation, table }) =>
      operation === 'replace' && table === 'entities' && commits++ === 0
        ? {
            before() {
              isHeldUp.resolve()
              return resume.promise
            },
          }
        : undefined
    const write = store.put({ name: 'two' }, { id })
    await isHeldUp.promise

    heldUpFor = 2 * DELAY_MS
    expect(await sweep(store)).toMatchObject({ fenced: 1, removed: 0, postponed: 1 })
    const fenced = metaOf((await store.get(id))!)!.version
    await failOver(store, id, fenced, version, 'one')
    resume.resolve()
    await write
    expect(commits).toBe(2)
    expect(await find(store, 'two')).toEqual([id])
  })

  it('the row of a fenced writer is deleted once no failover can undo the fence', async () => {
    const store = await open({ deleteDelayMs: DELAY_MS })
    const { id, version } = await store.put({ name: 'one' })
    const { catalog, router } = store.context
    const table = memory.shards[router.shardOfKey(Buffer.from('two'))]!.index(
      tableSpec(catalog.current().indexes[0]!),
    )
    const early = { key: [Buffer.from('two')], entityId: parseId(id), version: version + 1 }
    await table.upsert([early])
    heldUpFor = 2 * DELAY_MS
    expect(await sweep(store)).toMatchObject({ fenced: 1, removed: 0, postponed: 1 })
    expect(await sweep(store)).toMatchObject({ fenced: 0, removed: 1, postponed: 0 })
  })
})

describe('a cleaner that is held up after it has read an entity', () => {
  it('a held-up cleaner does not judge by a commit that a failover has undone', async () => {
    const store = await open({ deleteDelayMs: DELAY_MS })
    const { id, version } = await store.put({ name: 'one' })
    const second = await store.put({ name: 'two' }, { id })
    let failovers = 0
    plan = ({ operation, table }) =>
      operation === 'readBounded' && table === 'entities' && failovers === 0
        ? {
            async after() {
              failovers++
              heldUpFor = 2 * DELAY_MS
              await failOver(store, id, second.version, version, 'one')
            },
          }
        : undefined
    await sweep(store)
    expect(failovers).toBe(1)
    expect(await find(store, 'one')).toEqual([id])
  })

  it('a drain keeps pending rows until no failover can undo the commit that settled them', async () => {
    const store = await open({ onIndexFailure: 'defer', deleteDelayMs: DELAY_MS })
    plan = refuseUpserts
    await store.put({ name: 'one' })
    plan = () => undefined
    expect(await drainPending(store)).toBe(0)
    expect((await store.query(byName, { name: 'one' })).cost.complete).toBe(false)
    heldUpFor = 2 * DELAY_MS
    expect(await drainPending(store)).toBe(1)
    expect((await store.query(byName, { name: 'one' })).cost.complete).toBe(true)
  })
})
