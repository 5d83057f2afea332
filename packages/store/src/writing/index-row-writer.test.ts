import { setImmediate } from 'node:timers/promises'
import { LooseleafError } from '@looseleaf/core'
import type { CatalogEntry, IndexState } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalog, shardOfRow, tableSpec, type Placement } from '@looseleaf/index-engine/internal'
import type { PlacedKey } from '@looseleaf/protocol/internal'
import { faultyDriver, unknownOutcome, type FaultPlan } from '@looseleaf/testkit'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { createIndexRowWriter, type IndexRowWriter } from './index-row-writer.ts'
import { perShard } from '../calls/per-shard.ts'
import { createShardLanes } from '../calls/shard-lanes.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })
const ID = Buffer.alloc(16, 5)
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']

let reference: ReferenceDriver
let plan: FaultPlan
let store: DataStore
let writer: IndexRowWriter

beforeEach(async () => {
  plan = () => undefined
  reference = createReferenceDriver({ shards: 2 })
  const driver = faultyDriver(reference, (call) => plan(call))
  const shards = { shardCount: 2, connect: async () => driver }
  store = await DataStore.open({ shards, indexes: [byName, byRank], migrate: true })
  writer = createIndexRowWriter(store.context, perShard(driver, (shard) => createShardLanes(shard)).at)
})

const placement = (): Placement => store.context.catalog.current().placement
const entryOf = (name: string): CatalogEntry =>
  store.context.catalog.current().indexes.find((entry) => entry.name === name)!
const named = (name: string): PlacedKey => ({ entry: entryOf('by_name'), key: [Buffer.from(name)] })
const ranked = (rank: bigint): PlacedKey => ({ entry: entryOf('by_rank'), key: [rank] })

/** Returns the shard, key and stamp of each stored row. */
function rowsOf(name: string): string[] {
  return reference.shards.flatMap((shard, number) =>
    shard
      .index(tableSpec(entryOf(name)))
      .rows.map(({ key, version }) => `${number} ${String(key[0])} ${version}`),
  )
}

const failing =
  (table: string, error: Error): FaultPlan =>
  (call) =>
    call.table === table && (call.operation === 'upsert' || call.operation === 'remove')
      ? { before: () => Promise.reject(error) }
      : undefined

/** Changes the state of an index as another process. */
async function change(name: string, state: IndexState): Promise<void> {
  await changeCatalog(reference, (indexes) =>
    indexes.map((entry) => (entry.name === name ? { ...entry, state } : entry)),
  )
}

describe('rows', () => {
  it('the writer upserts rows with their stamp on their shards, and deletes rows with a lower stamp', async () => {
    expect(await writer.upsert(placement(), [...NAMES.map(named), ranked(7n)], ID, 9)).toEqual([])
    const places = NAMES.map((name) => {
      const { entry, key } = named(name)
      return `${shardOfRow(entry, placement(), key, ID)} ${name} 9`
    })
    expect(new Set(places.map((place) => place[0]))).toEqual(new Set(['0', '1']))
    expect(rowsOf('by_name').toSorted()).toEqual(places.toSorted())
    expect(rowsOf('by_rank')).toHaveLength(1)
    await writer.remove(NAMES.map(named), ID, 9)
    expect(rowsOf('by_name')).toHaveLength(NAMES.length)
    await writer.remove(NAMES.map(named), ID, 10)
    expect(rowsOf('by_name')).toEqual([])
  })

  it('an upsert returns the tables of failed rows with their errors', async () => {
    const away = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
    plan = failing('index_by_name', away)
    expect(await writer.upsert(placement(), [ranked(7n), named('a')], ID, 9)).toEqual([
      { table: 'index_by_name', error: away },
    ])
    expect(rowsOf('by_rank')).toHaveLength(1)
    await expect(writer.remove([ranked(7n), named('a')], ID, 10)).rejects.toBe(away)
  })

  it('a lost answer to an upsert has a known outcome, because the entity was not written', async () => {
    plan = failing('index_by_name', unknownOutcome())
    const [failure] = await writer.upsert(placement(), [named('a')], ID, 9)
    expect(failure?.error).toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      retryable: true,
      message: expect.stringMatching(
        /connection was lost.*This concerns an index row only: the entity was not written\.$/,
      ),
      cause: { code: 'OUTCOME_UNKNOWN' },
    })
  })

  it('an upsert returns ABORTED and unexpected errors unchanged', async () => {
    const controller = new AbortController()
    plan = ({ operation }) =>
      operation === 'upsert'
        ? {
            before: () => controller.abort(),
            after: () => setImmediate(),
          }
        : undefined
    const given = await writer.upsert(placement(), [named('a')], ID, 9, controller.signal)
    expect(given).toMatchObject([{ error: { code: 'ABORTED' } }])
    const bug = new TypeError('a bug')
    plan = failing('index_by_name', bug)
    expect(await writer.upsert(placement(), [named('a')], ID, 9)).toEqual([
      { table: 'index_by_name', error: bug },
    ])
  })

  it('an upsert waits for all of its statements after one has failed', async () => {
    const slow = Promise.withResolvers<void>()
    const away = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
    plan = (call) =>
      call.table === 'index_by_rank' && call.operation === 'upsert'
        ? { before: () => slow.promise }
        : failing('index_by_name', away)(call)
    let isOver = false
    const writing = writer.upsert(placement(), [named('a'), ranked(7n)], ID, 9).finally(() => (isOver = true))
    for (let turn = 0; turn < 10; turn++) await setImmediate()
    expect(isOver).toBe(false)
    slow.resolve()
    expect(await writing).toHaveLength(1)
  })

  it('an empty list of rows sends no statement', async () => {
    let calls = 0
    plan = () => void calls++ as undefined
    expect(await writer.upsert(placement(), [], ID, 9)).toEqual([])
    await writer.remove([], ID, 9)
    expect(calls).toBe(0)
  })
})

describe('a missing table', () => {
  beforeEach(async () => {
    for (const shard of reference.shards) await shard.dropIndexTable(tableSpec(entryOf('by_name')))
  })

  it.each(['retiring', 'dropped'] as const)('a missing table of a %s index is ignored', async (state) => {
    await change('by_name', state)
    const rows = [named('a')]
    expect(await writer.upsert(placement(), rows, ID, 9)).toEqual([])
    await writer.remove(rows, ID, 9)
  })

  it('an unavailable shard is an error even for a retiring index', async () => {
    await change('by_name', 'retiring')
    plan = failing('index_by_name', new LooseleafError('SHARD_UNAVAILABLE', 'Away.'))
    const rows = [named('a')]
    expect(await writer.upsert(placement(), rows, ID, 9)).toMatchObject([
      { error: { code: 'SHARD_UNAVAILABLE' } },
    ])
    await expect(writer.remove(rows, ID, 9)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  })

  it.each(['building', 'ready'] as const)(
    'a missing table of a %s index is INDEX_NOT_FOUND',
    async (state) => {
      await change('by_name', state)
      const rows = [named('a')]
      expect(await writer.upsert(placement(), rows, ID, 9)).toMatchObject([
        { error: { code: 'INDEX_NOT_FOUND' } },
      ])
      await expect(writer.remove(rows, ID, 9)).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND' })
    },
  )
})
