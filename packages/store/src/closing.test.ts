import type { DriverFactory } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, type FaultPlan, withoutPauses } from '@looseleaf/testkit'
import { farRouter } from '@looseleaf-tooling/kit/far-router'
import { withCode } from '@looseleaf-tooling/kit/errors'
import { describe, expect, it } from 'vitest'
import { DataStore } from './data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

/** Opens a store whose calls of one operation of the driver wait until they are released. */
async function openHeld(operation: string): Promise<{
  store: DataStore
  /** Makes calls wait from now on. */
  hold(): void
  /** Resolves when a call waits. */
  held: Promise<void>
  release(): void
  isDisconnected(): boolean
}> {
  const gate = Promise.withResolvers<void>()
  const arrival = Promise.withResolvers<void>()
  let holds = false
  let isDisconnected = false
  const plan: FaultPlan = (call) => {
    if (!holds || call.operation !== operation) return undefined
    arrival.resolve()
    return { before: () => gate.promise }
  }
  const memory = memoryShards(2)
  const shards: DriverFactory = {
    shardCount: 2,
    async connect() {
      const driver = faultyDriver(await memory.connect(), plan)
      return {
        ...driver,
        async close() {
          isDisconnected = true
          await driver.close()
        },
      }
    },
  }
  const router = farRouter()
  const store = await DataStore.open({
    shards,
    indexes: [byName],
    migrate: true,
    time: withoutPauses,
    router,
  })
  return {
    store,
    hold: () => void (holds = true),
    held: arrival.promise,
    release: gate.resolve,
    isDisconnected: () => isDisconnected,
  }
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('close', () => {
  it.each(['upsert', 'insert'])('close waits for a put that is at its %s', async (operation) => {
    const { store, hold, held, release, isDisconnected } = await openHeld(operation)
    hold()
    const put = store.put({ name: 'one' })
    await held
    const closed = [store.close(), store.close()]
    await turns()
    expect(isDisconnected()).toBe(false)
    await expect(store.put({ name: 'two' })).rejects.toEqual(withCode('CLOSED'))
    release()
    expect(await put).toMatchObject({ created: true, indexed: true })
    await Promise.all(closed)
    expect(isDisconnected()).toBe(true)
  })

  it('close waits for every page of getAll, every put of putMany, and deletes in flight', async () => {
    const { store, hold, held, release } = await openHeld('remove')
    const ids = Array.from({ length: 1_200 }, () => store.newId())
    await store.putMany(ids.map((id) => ({ id, name: 'one' })))
    hold()
    await store.put({ name: 'two' }, { id: ids[0]! })
    await held
    const all = store.getAll(byName, { name: 'one' }, { scatter: true })
    const many = store.putMany(ids.map((id) => ({ id, name: 'one', again: true })))
    const closed = store.close()
    let isClosed = false
    void closed.then(() => (isClosed = true))
    // The read overlaps the writes of `putMany`, so some entities may be missing from it.
    expect((await all).length).toBeGreaterThan(1_100)
    expect(await many).toHaveLength(1_200)
    await turns()
    expect(isClosed).toBe(false)
    release()
    await closed
  })

  it('a block with `await using` closes its store', async () => {
    const { store, isDisconnected } = await openHeld('none')
    {
      await using used = store
      await used.put({ name: 'one' })
      expect(isDisconnected()).toBe(false)
    }
    expect(isDisconnected()).toBe(true)
    await expect(store.put({})).rejects.toEqual(withCode('CLOSED'))
  })

  it('every call rejects after close', async () => {
    const { store } = await openHeld('none')
    const id = store.newId()
    await store.close()
    const calls = [
      store.put({}),
      store.insert({}),
      store.update(id, (bag) => bag),
      store.delete(id),
      store.putMany([{}]),
      store.get(id),
      store.getMany([id]),
      store.query(byName, { name: 'one' }),
      store.getAll(byName, { name: 'one' }),
      store.count(byName, { name: 'one' }),
      store.addIndex(byName),
      store.dropIndex('by_name'),
      store.indexes(),
      store.status(),
    ]
    for (const call of calls) await expect(call).rejects.toEqual(withCode('CLOSED'))
    expect(() => store.scan()).toThrow(/closed/)
  })
})

describe('settled', () => {
  it('settled waits for the deletes added so far, and not for later ones', async () => {
    const { store, hold, held, release } = await openHeld('remove')
    const { id } = await store.put({ name: 'one' })
    await store.put({ name: 'two' }, { id })
    await store.settled()
    hold()
    await store.put({ name: 'three' }, { id })
    await held
    let isSettled = false
    const settled = store.settled().then(() => (isSettled = true))
    await turns()
    expect(isSettled).toBe(false)
    release()
    await settled
    await store.close()
  })
})

describe('holdOpen', () => {
  it('holdOpen accepts the calls of its work until that has ended, and no others', async () => {
    const { store, isDisconnected } = await openHeld('nothing')
    const { promise, resolve } = Promise.withResolvers<void>()
    let late: Promise<unknown> = Promise.resolve()
    const working = store.holdOpen(async () => {
      await promise
      const { id } = await store.put({ name: 'a' })
      // Begins within the work, and calls the store after its end.
      late = turns().then(() => store.get(id))
      late.catch(() => {})
      return store.holdOpen(() => store.get(id))
    })
    const closing = store.close()
    await expect(store.put({ name: 'b' })).rejects.toEqual(withCode('CLOSED'))
    await expect(store.holdOpen(async () => {})).rejects.toEqual(withCode('CLOSED'))
    await turns()
    expect(isDisconnected()).toBe(false)
    resolve()
    expect(await working).toMatchObject({ name: 'a' })
    await closing
    expect(isDisconnected()).toBe(true)
    await expect(late).rejects.toEqual(withCode('CLOSED'))
  })

  it('holdOpen rejects an argument that is no function', async () => {
    const { store } = await openHeld('nothing')
    await expect(store.holdOpen(7 as never)).rejects.toThrow('holdOpen takes a function; got a number')
    await store.close()
  })
})
