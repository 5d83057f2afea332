import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, unknownOutcome, type FaultPlan } from '@looseleaf/testkit'
import type { DataStore } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { addRow, entryOf, expectedRows, openStore, rowFor, rowsIn } from '../test/stores.ts'
import { cleanIndex } from './clean-index.ts'
import { sweepIndex } from './sweep.ts'

const ada = { user_id: 'ada', published: 1 }
const eve = { user_id: 'eve', published: 1 }

/** A store that tells what it sends; `onFlush` is what becomes of flushes. */
async function watched(onFlush?: () => void): Promise<{ store: DataStore; sent: string[] }> {
  const sent: string[] = []
  const plan: FaultPlan = ({ shard, operation }) => {
    sent.push(operation === 'flush' ? `flush ${shard}` : operation)
    return operation === 'flush' && onFlush ? { before: onFlush } : undefined
  }
  const store = await openStore({ driver: faultyDriver(await memoryShards(2).connect(), plan) })
  return { store, sent }
}

/** An entity with a row of one of its earlier versions. */
async function withDangling(store: DataStore): Promise<string> {
  const { id, version } = await store.put(ada)
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, version))
  return id
}

test('a row is deleted when the entity that was read is on disk', async () => {
  const { store, sent } = await watched()
  const id = await withDangling(store)
  sent.length = 0
  expect(await sweepIndex(store, { indexes: 'by_user' })).toMatchObject({ removed: 1 })
  const { router } = store.context
  const flushed = `flush ${router.shardOfId(Buffer.from(id.replaceAll('-', ''), 'hex'))}`
  expect(sent.filter((operation) => operation.startsWith('flush'))).toEqual([flushed])
  expect(sent.lastIndexOf('read')).toBeLessThan(sent.indexOf(flushed))
  expect(sent.indexOf(flushed)).toBeLessThan(sent.indexOf('remove'))
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test('a row stays when that cannot be had', async () => {
  const { store, sent } = await watched(() => {
    throw unknownOutcome()
  })
  await withDangling(store)
  await expect(sweepIndex(store)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  expect(sent).not.toContain('remove')
  expect(await rowsIn(store, 'by_user')).toHaveLength(2)
})

test('nothing is flushed where there is nothing to delete', async () => {
  const { store, sent } = await watched()
  await store.put(ada)
  await sweepIndex(store)
  expect(sent.filter((operation) => operation.startsWith('flush'))).toEqual([])
})

test('an index becomes ready when what its check has found is on disk, on every shard', async () => {
  let fails = true
  const { store, sent } = await watched(() => {
    if (fails) throw unknownOutcome()
  })
  await store.put({ ...ada, likes: 3 })
  const byLikes = defineIndex('by_likes', { properties: { likes: 'integer' }, shardOn: 'likes' })
  await store.addIndex(byLikes)
  await expect(cleanIndex(store, 'by_likes', { settleMs: 0 })).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
  })
  expect(entryOf(store, 'by_likes').state).toBe('building')
  fails = false
  sent.length = 0
  await cleanIndex(store, 'by_likes', { settleMs: 0 })
  expect(sent).toEqual(expect.arrayContaining(['flush 0', 'flush 1']))
  expect(entryOf(store, 'by_likes').state).toBe('ready')
})
