import { LooseleafError, parseId, type EntityId } from '@looseleaf/core'
import type { EntityRow } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import pLimit from 'p-limit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { placeAt } from '@looseleaf/protocol/internal'
import { Search, until } from '../../test/search.ts'
import type { ChangedEntity } from './changed-entity.ts'
import { createChangeReader } from './consumed-kinds.ts'
import type { HeldPartition } from './partition-leases.ts'
import { createRetrySlots } from './retry-slots.ts'
import { createRowHandler, type Handler, type RowHandler } from './row-handler.ts'

let search: Search
let store: DataStore
let partition: HeldPartition
let now: number
let reports: unknown[]
let ended: AbortController
let handle: Handler
let rows: RowHandler
let row: EntityRow
let id: EntityId

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  partition = { number: 0, place: placeAt(1), since: 1, failing: new Map(), isHeld: true }
  now = 0
  reports = []
  ended = new AbortController()
  handle = () => {}
  ;({ id } = await store.put({ n: 1 }))
  row = await readRow()
  const time = { ...store.context.time, elapsed: () => now }
  const { signal } = ended
  rows = createRowHandler(
    { ...store.context, time },
    0,
    'search',
    (change, context) => handle(change as ChangedEntity, context),
    {
      changes: createChangeReader(store, undefined),
      leases: {
        isSure: true,
        confirm: async () => true,
        held: [partition],
        refresh: async () => {},
        save: async () => {},
        release: async () => {},
      },
      passing: { countOpen: ({ failing }) => failing.size },
      limit: pLimit(8),
      retrySlots: createRetrySlots(8)(),
      retryMs: 100,
      maxAttempts: 5,
      signal,
      report: (error) => void reports.push(error),
    },
  )
})
afterEach(() => search.end(store))

async function readRow(): Promise<EntityRow> {
  const key = parseId(id)
  return (await search.memory.shards[store.context.router.shardOfId(key)]!.entities.read([key]))[0]!
}

const begin = (kind: 'new' | 'retry' = 'new'): Promise<boolean> => rows.handle(partition, row, Infinity, kind)

test('attempts are counted by version: a later state of a failing entity begins at 1 again', async () => {
  const attempts: number[] = []
  handle = ({ attempt }) => {
    attempts.push(attempt)
    throw new Error('down')
  }
  for (const kind of ['new', 'retry', 'retry'] as const) expect(await begin(kind)).toBe(true)
  await store.put({ n: 2 }, { id })
  row = await readRow()
  expect(await begin('retry')).toBe(true)
  expect(attempts).toEqual([1, 2, 3, 1])
  expect(rows.counts).toEqual({ handled: 0, failed: 4, deadLettered: 0 })
  handle = () => {}
  expect(await begin('retry')).toBe(true)
  expect([partition.failing.size, rows.counts.handled]).toEqual([0, 1])
})

test('an exception of a handler whose partition was lost meanwhile is no failure', async () => {
  handle = () => {
    partition.isHeld = false
    throw new Error('down')
  }
  expect(await begin()).toBe(false)
  expect([reports, rows.counts.failed, partition.failing.size]).toEqual([[], 0, 0])
})

test.each(['new', 'retry'] as const)('a %s change that could not begin in time comes again', async (kind) => {
  let begun = 0
  handle = () => void begun++
  now = 10
  expect(await rows.handle(partition, row, 9, kind)).toBe(false)
  expect(await rows.handle(partition, row, 10, kind)).toBe(true)
  expect(begun).toBe(1)
})

test('due changes are those whose pause is over, longest wait first', () => {
  const failing = [3, 1, 2].map((attempts) => ({
    id: `${attempts}`,
    version: 1,
    attempts,
    error: '',
    failedAt: 0,
  }))
  for (const change of failing) partition.failing.set(change.id, change)
  const due = (): string[] => rows.due(partition).map((change) => change.id)
  expect(due()).toEqual([])
  now = 99
  expect(due()).toEqual([])
  now = 100
  expect(due()).toEqual(['1'])
  now = 400
  expect(due()).toEqual(['1', '2', '3'])
})

test('an error of a write of a dead letter is reported, unless the consumer has ended', async () => {
  handle = () => {
    throw new Error('down')
  }
  search.plan = ({ operation }) => {
    if (operation === 'claim') throw new LooseleafError('SHARD_DENIED', 'no')
    return undefined
  }
  partition.failing.set(id, { id, version: row.version, attempts: 4, error: '', failedAt: 0 })
  expect(await begin('retry')).toBe(true)
  expect(reports).toMatchObject([{ message: 'down' }, { code: 'SHARD_DENIED' }])
  expect(partition.failing.get(id)?.attempts).toBe(5)
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  let isAsked = false
  search.plan = ({ operation }) => {
    if (operation !== 'claim') return undefined
    isAsked = true
    return {
      async before() {
        await held
        throw new LooseleafError('SHARD_DENIED', 'no')
      },
    }
  }
  const last = begin('retry')
  await until(() => isAsked)
  ended.abort()
  release()
  await last
  expect(reports).toHaveLength(3)
  expect(rows.counts.deadLettered).toBe(0)
})
