import type { EntityId } from '@looseleaf/core'
import { parseId, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { localRouter } from '@looseleaf-tooling/kit/far-router'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'
import { unchanged } from '../unchanged.ts'

const byState = defineIndex('by_state', { properties: { state: 'string' }, shardOn: 'state' })

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name', unique: true })

let memory: Driver
let store: DataStore
/** A store of another process. */
let rival: DataStore
let calls: string[]
let id: EntityId
/** The version of the last write of `store`, which has a write at a version before it. */
let version: number

const open = (driver: Driver): Promise<DataStore> =>
  DataStore.open({
    shards: keepOpen(driver),
    indexes: [byState, byName],
    migrate: true,
    router: localRouter(),
  })

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  calls = []
  store = await open(
    faultyDriver(memory, ({ table, operation }) => {
      if (table === 'entities' && operation !== 'floor') calls.push(operation)
      return undefined
    }),
  )
  rival = await open(memory)
  const created = await store.insert({ state: 'due' })
  id = created.id
  version = (await store.update(id, (bag) => ({ ...bag, state: 'taken' }), { ifVersion: created.version }))
    .version
  calls.length = 0
})
afterEach(async () => {
  await Promise.all([store.close(), rival.close()])
  await memory.close()
})

const idsOf = async (state: string): Promise<string[]> =>
  (await store.getAll(byState, { state })).map((entity) => entity.id)

/** Writes another body under a version, as after a failover whose successor repeats the version. */
async function repeatVersion(body: Uint8Array): Promise<void> {
  const bytes = parseId(id)
  const number = store.context.router.shardOfId(bytes)
  const { entities, catalog } = memory.shards[number]!
  const { epoch } = (await catalog.load())!
  expect(await entities.replace([{ id: bytes, base: version, version, body }], { epoch })).toEqual([true])
}

describe('a write at the version of the last write of its process', () => {
  test('an update at the version that this process has written reads nothing, and its rows are right', async () => {
    const done = await store.update(id, (bag) => ({ ...bag, state: 'done' }), { ifVersion: version })
    expect(calls).toEqual(['replace'])
    expect(await store.get(id)).toEqual({ id, state: 'done' })
    expect([await idsOf('taken'), await idsOf('done')]).toEqual([[], [id]])
    calls.length = 0
    await store.put({ state: 'put' }, { id, ifVersion: done.version })
    expect(calls).toEqual(['replace'])
  })

  test('a delete at the version that this process has written reads nothing', async () => {
    expect(await store.delete(id, { ifVersion: version })).toBe(true)
    expect(calls).toEqual(['replace'])
    expect(await idsOf('taken')).toEqual([])
  })

  test('a write at a version that another process has replaced is VERSION_MISMATCH, and writes nothing', async () => {
    const later = await rival.update(id, (bag) => ({ ...bag, state: 'stolen' }))
    const writes = [
      () => store.update(id, (bag) => ({ ...bag, state: 'done' }), { ifVersion: version }),
      () => store.delete(id, { ifVersion: version }),
    ]
    for (const write of writes) await expect(write()).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
    expect(await rival.get(id)).toEqual({ id, state: 'stolen' })
    await rival.update(id, (bag) => ({ ...bag, state: 'again' }), { ifVersion: later.version })
  })

  test('a state with another body under the same version is read, and becomes the base', async () => {
    await repeatVersion(store.context.codec.encode({ state: 'due', of: 'another commit' }))
    await store.update(id, (bag) => ({ ...bag, state: 'taken' }), { ifVersion: version })
    expect(calls).toEqual(['replace', 'read', 'replace'])
    expect(await store.get(id)).toEqual({ id, state: 'taken', of: 'another commit' })
    expect(await idsOf('taken')).toEqual([id])
  })

  test('a body that was damaged under the same version is reported, and not overwritten', async () => {
    const damaged = Buffer.from('no body at all')
    await repeatVersion(damaged)
    const update = store.update(id, (bag) => ({ ...bag, state: 'done' }), { ifVersion: version })
    await expect(update).rejects.toMatchObject({ code: 'BODY_DAMAGED', entity: id })
    const [row] = await memory.shards[store.context.router.shardOfId(parseId(id))]!.entities.read([
      parseId(id),
    ])
    expect(Buffer.from(row!.body!)).toEqual(damaged)
  })

  test('an edit that throws or writes nothing is called again with the stored state', async () => {
    await rival.update(id, (bag) => ({ ...bag, state: 'stolen' }))
    const seen: unknown[] = []
    const failing = store.update(
      id,
      (bag) => {
        seen.push(bag['state'])
        throw new Error('The edit fails.')
      },
      { ifVersion: version },
    )
    // The entity has another version, whatever the edit says about the state from memory.
    await expect(failing).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
    expect(seen).toEqual(['taken'])
    expect(calls).toEqual(['read'])
  })

  test('a key that another entity holds does not hide that the entity has another version', async () => {
    await rival.update(id, (bag) => ({ ...bag, state: 'stolen' }))
    await rival.insert({ name: 'ada' })
    const update = store.update(id, (bag) => ({ ...bag, name: 'ada' }), { ifVersion: version })
    await expect(update).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
  })

  test('a key that another entity holds is DUPLICATE_KEY at the stored version', async () => {
    const { id: holder } = await rival.insert({ name: 'ada' })
    const update = store.update(id, (bag) => ({ ...bag, name: 'ada' }), { ifVersion: version })
    await expect(update).rejects.toMatchObject({ code: 'DUPLICATE_KEY', holder })
    expect(await store.get(id)).toEqual({ id, state: 'taken' })
  })

  test('an update that returns unchanged answers by the stored state', async () => {
    expect(await store.update(id, () => unchanged, { ifVersion: version })).toMatchObject({ version })
    expect(calls).toEqual(['read'])
  })

  test('an edit that changes the bag in place finds the rows that the entity has lost', async () => {
    const edit = (bag: { state?: string }): object => Object.assign(bag, { state: 'done' })
    await store.update(id, edit, { ifVersion: version })
    expect([await idsOf('taken'), await idsOf('done')]).toEqual([[], [id]])
  })

  test('a remembered version lets a single write win', async () => {
    const results = await Promise.allSettled(
      [1, 2].map((n) => store.update(id, (bag) => ({ ...bag, n }), { ifVersion: version })),
    )
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })
})

test('a write at a version that another process has written reads the entity', async () => {
  const { version: other } = await rival.update(id, (bag) => ({ ...bag, state: 'other' }))
  await store.update(id, (bag) => ({ ...bag, more: true }), { ifVersion: other })
  expect(calls).toEqual(['read', 'replace'])
})

test('the first write at a version of a process reads the entity, because nothing was kept for it', async () => {
  const late = await open(
    faultyDriver(memory, ({ table, operation }) => {
      if (table === 'entities' && operation !== 'floor') calls.push(operation)
      return undefined
    }),
  )
  calls.length = 0
  const { id: other, version: first } = await late.insert({ state: 'due' })
  await late.put({ state: 'taken' }, { id: other, ifVersion: first })
  expect(calls).toEqual(['insert', 'read', 'replace'])
  await late.close()
})
