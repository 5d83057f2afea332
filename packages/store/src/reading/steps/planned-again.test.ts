import { LooseleafError, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import { keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LayoutChanged } from '../../catalog/layout-changed.ts'
import { createReadyIndexes } from '../../catalog/ready-indexes.ts'
import { DataStore } from '../../data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let memory: Driver
let opened: DataStore[]

const open = async (): Promise<DataStore> => {
  const store = await DataStore.open({ shards: keepOpen(memory), indexes: [byName], migrate: true })
  opened.push(store)
  return store
}
beforeEach(async () => {
  memory = await memoryShards(2).connect()
  opened = []
})
afterEach(async () => {
  for (const store of opened) await store.close()
  await memory.close()
})

const noTable = (): never => {
  throw new LooseleafError('INDEX_NOT_FOUND', 'Its table is gone.')
}
const otherLayout = (): never => {
  throw new LayoutChanged()
}

/** Runs a call whose attempts have these outcomes in turn, while another process replaces its index. Returns the tables of the attempts. */
async function attemptsOf(...outcomes: readonly (() => string)[]): Promise<readonly (string | undefined)[]> {
  const store = await open()
  const other = await open()
  await other.dropIndex('by_name')
  await other.addIndex(byName)
  // The store has no entity, so a cleaner would add no row.
  await changeCatalogContents(memory, ({ indexes, ...contents }) => ({
    ...contents,
    indexes: indexes.map((entry) => (entry.state === 'building' ? { ...entry, state: 'ready' } : entry)),
  }))
  const tables: (string | undefined)[] = []
  const answer = createReadyIndexes(store.context).onIndexes([byName], false, async ([entry]) => {
    tables.push(entry?.table)
    return outcomes[tables.length - 1]!()
  })
  expect(await answer).toBe('an answer')
  return tables
}

const answered = (): string => 'an answer'

test('a call whose table was dropped is planned again with the new table', async () => {
  const [before, after, ...others] = await attemptsOf(noTable, answered)
  expect(after).not.toBe(before)
  expect(others).toEqual([])
})

test('a call whose table was dropped is planned a third time if the layout changes during the second', async () => {
  const [before, second, third, ...others] = await attemptsOf(noTable, otherLayout, answered)
  expect(second).not.toBe(before)
  expect([third, ...others]).toEqual([second])
})

test('a call whose layout has changed is planned again with the new table if its table was dropped as well', async () => {
  const [before, second, third, ...others] = await attemptsOf(otherLayout, noTable, answered)
  expect(second).toBe(before)
  expect(third).not.toBe(before)
  expect(others).toEqual([])
})
