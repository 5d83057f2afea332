import { randomBytes } from 'node:crypto'
import type { Bag, Driver, EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen, withoutPauses } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'

const byMail = defineIndex('by_mail', { properties: { mail: 'integer' }, shardOn: 'mail', unique: true })

let memory: Driver
let store: DataStore
/** A store of another process. */
let rival: DataStore
/** Runs after the next statement of `store` that reads entities. */
let afterRead: (() => Promise<void>) | undefined

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  afterRead = undefined
  const driver = faultyDriver(memory, ({ table, operation }) => {
    if (table !== 'entities' || operation !== 'readBounded' || afterRead === undefined) return undefined
    const after = afterRead
    afterRead = undefined
    return { after }
  })
  const options = { indexes: [byMail], migrate: true, time: withoutPauses }
  store = await DataStore.open({ shards: keepOpen(driver), ...options })
  rival = await DataStore.open({ shards: keepOpen(memory), ...options })
})
afterEach(async () => {
  await Promise.all([store.close(), rival.close()])
  await memory.close()
})

test('a batch whose items want one key by states of different times starts again', async () => {
  const group = store.newId()
  const withMail = async (mail: number, text: string): Promise<EntityId> =>
    (await store.insert({ group, mail, text }, { near: group })).id
  // A long body is read by a statement of its own, after the others.
  const [a, b] = [await withMail(1, ''), await withMail(5, randomBytes(2_200_000).toString('base64'))]
  const next = (bag: Bag): Bag => ({ ...bag, mail: Number(bag['mail']) + 1 })
  afterRead = async () => {
    await rival.update(a, (bag) => ({ ...bag, mail: 7 }))
    await rival.update(b, (bag) => ({ ...bag, mail: 1 }))
  }
  await store.batch([
    { update: a, edit: next },
    { update: b, edit: next },
  ])
  expect([(await store.get(a))?.['mail'], (await store.get(b))?.['mail']]).toEqual([8, 2])
})

test('items that want one key by their stored states are DUPLICATE_KEY', async () => {
  const group = store.newId()
  const insert = { group, mail: 1 }
  const { id } = await store.insert({ group, mail: 5 }, { near: group })
  const batch = store.batch([{ insert }, { update: id, edit: (bag) => ({ ...bag, mail: 1 }) }])
  await expect(batch).rejects.toMatchObject({ code: 'DUPLICATE_KEY', item: 1 })
  expect((await store.get(id))?.['mail']).toBe(5)
})
