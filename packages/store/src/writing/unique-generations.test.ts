import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { keepOpen } from '@looseleaf/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const unique = { shardOn: 'd', unique: true } as const
const bySlot = defineIndex('by_slot', { ...unique, properties: { d: 'string', slot: 'string' } })
const byFirstLetter = defineIndex('by_slot', {
  ...unique,
  properties: { d: 'string', slot: { type: 'string', key: 'prefix(1)' } },
})
const including = defineIndex('by_slot', {
  ...unique,
  properties: { d: 'string', slot: 'string' },
  include: ['title'],
})

async function openOld(): Promise<{ old: DataStore; open: (index: typeof bySlot) => Promise<DataStore> }> {
  const shards = keepOpen(await memoryShards(2).connect())
  const open = async (index: typeof bySlot): Promise<DataStore> => {
    const store = await DataStore.open({ shards, indexes: [index], migrate: true })
    onTestFinished(() => store.close())
    return store
  }
  return { old: await open(bySlot), open }
}

test('a write that a stricter generation refuses names that generation and its keys', async () => {
  const { old, open } = await openOld()
  await open(byFirstLetter as never)
  await old.context.catalog.reload()
  const { id: holder } = await old.put({ d: 'x', slot: 'a1' })
  const entity = old.newId()
  await expect(old.put({ d: 'x', slot: 'a2' }, { id: entity })).rejects.toMatchObject({
    code: 'DUPLICATE_KEY',
    index: 'by_slot',
    holder,
    message: `Index by_slot, generation 2 (d string, slot prefix(1) of slot string), is unique: entity ${entity} was not written, because entity ${holder} has its key. Writes of all programs have to satisfy every generation in use: 1, 2.`,
  })
})

test('a refused write names no generation if all generations have the same keys, or only one is left', async () => {
  const { old, open } = await openOld()
  const later = await open(including as never)
  await old.context.catalog.reload()
  const { id: holder } = await old.put({ d: 'x', slot: 'a' })
  const entity = old.newId()
  const message = `Index by_slot is unique: entity ${entity} was not written, because entity ${holder} has its key.`
  const write = (): Promise<unknown> => old.put({ d: 'x', slot: 'a' }, { id: entity })
  await expect(write()).rejects.toMatchObject({ message })
  await later.dropIndex(including)
  await expect(write()).rejects.toMatchObject({ message })
})
