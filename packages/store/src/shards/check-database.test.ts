import { LooseleafError, type Driver, type ErrorCode, type Shard } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { loadShardCatalog } from '@looseleaf/index-engine/internal'
import { keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

let memory: Driver
let spare: Shard
let store: DataStore
/** The shard at any address. */
let found: Shard

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  spare = memory.shards[1]!
  found = spare
  const driver = { ...memory, shards: memory.shards.slice(0, 1), shardAt: () => found }
  store = await DataStore.open({ shards: keepOpen(driver), migrate: true })
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

const failing = (code: ErrorCode, text: string) => (): Promise<never> =>
  Promise.reject(new LooseleafError(code, `memory 1: ${text}`, { shard: 'memory 1' }))

const foreign = async (): Promise<object> => ({
  missing: [],
  foreign: [{ name: 'entities', found: 'id INT', expected: 'id BLOB' }],
})

async function refusal(): Promise<object> {
  const errors: LooseleafError[] = []
  for (const dryRun of [true, false]) {
    const error = await store.shards.add('memory 1', { dryRun }).catch((reason: unknown) => reason)
    errors.push(error as LooseleafError)
  }
  expect(await spare.checkTables!([])).toMatchObject({ missing: { length: 5 } })
  expect(errors[0]).toEqual(errors[1])
  return errors[0]!
}

test('an add names every right that the user lacks, and changes nothing', async () => {
  const { entities } = spare
  found = {
    ...spare,
    entities: {
      ...entities,
      insert: failing('SHARD_DENIED', 'the user lacks the privilege INSERT.'),
      discard: failing('SHARD_DENIED', 'the user lacks the privilege DELETE.'),
    },
    tryCreateTable: failing('SHARD_DENIED', 'the user lacks the privilege CREATE.'),
  }
  expect(await refusal()).toMatchObject({
    code: 'SHARD_DENIED',
    shard: 'memory 1',
    message:
      'Shard memory 1: it cannot join, for 3 reasons. 1. the user lacks the privilege INSERT. 2. the user lacks the privilege DELETE. 3. the user lacks the privilege CREATE. Nothing was changed. Grant the missing privileges to the user.',
  })
})

test('a user without the right to create tables is refused for that reason alone', async () => {
  found = { ...spare, tryCreateTable: failing('SHARD_DENIED', 'the user lacks the privilege CREATE.') }
  expect(await refusal()).toMatchObject({
    code: 'SHARD_DENIED',
    message:
      'Shard memory 1: the user lacks the privilege CREATE. Nothing was changed. Grant the missing privileges to the user.',
  })
})

test('a shard whose tables are there needs no right to create tables', async () => {
  await spare.createTables()
  found = { ...spare, tryCreateTable: failing('SHARD_DENIED', 'the user lacks the privilege CREATE.') }
  expect(await store.shards.add('memory 1', { dryRun: true })).toMatchObject({ number: 1 })
})

test('a shard that stops answering during the check ends an add with its error', async () => {
  const entities = { ...spare.entities, replace: failing('SHARD_UNAVAILABLE', 'it is down.') }
  found = { ...spare, entities }
  expect(await refusal()).toMatchObject({ code: 'SHARD_UNAVAILABLE', message: 'memory 1: it is down.' })
  found = { ...found, checkTables: foreign as never }
  expect(await refusal()).toMatchObject({ code: 'SHARD_UNAVAILABLE' })
})

test('a table of another program is the reason also if writes fail in another way', async () => {
  const entities = { ...spare.entities, replace: failing('STATEMENT_FAILED', 'there is no such key.') }
  found = { ...spare, entities }
  expect(await refusal()).toMatchObject({ code: 'STATEMENT_FAILED' })
  found = { ...found, checkTables: foreign as never }
  expect(await refusal()).toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message:
      'Shard memory 1: the table entities is not one of Looseleaf: it has the columns id INT, and Looseleaf needs id BLOB. Nothing was changed. Rename such tables, or give an empty database.',
  })
})

test('a shard of a driver without these checks joins', async () => {
  const { checkTables: _, tryCreateTable: __, ...plain } = spare
  found = plain
  expect(await store.shards.add('memory 1')).toMatchObject({ number: 1, added: true })
  expect(await loadShardCatalog(spare)).toMatchObject({ shardNumber: 1 })
})
