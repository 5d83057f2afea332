import { formatId, LooseleafError, type ErrorCode } from '@looseleaf/core'
import type { IndexRow } from '@looseleaf/core/internal'
import type { EngineContext, Placement } from '@looseleaf/index-engine/internal'
import { entryOf } from '@looseleaf-tooling/kit/catalogs'
import { expect, test } from 'vitest'
import type { TakeKey } from './claims.ts'
import type { PlacedKey, RowLanes } from './index-rows.ts'
import { claimEarly, writeAgain, writeEarly } from './write-early.ts'

const ROWS = entryOf()
const CLAIMS = entryOf({ table: 'claims_by_name_1', unique: true })
const ID = Buffer.alloc(16, 1)
const OTHER = Buffer.alloc(16, 2)
const placement = { rows: { writtenOfId: () => [0] } } as unknown as Placement

const errorOf = (code: ErrorCode, shard = 'one'): LooseleafError => new LooseleafError(code, 'No.', { shard })
const nameOf = (key: IndexRow['key']): string => String(key[0])
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const keyOf = (name: string, entry = CLAIMS): PlacedKey => ({ entry, key: [Buffer.from(name)] })

/** A store that has no index of claims any more. */
const context = {
  time: { now: () => 0, elapsed: () => 0 },
  driver: { shards: [{ claims: () => ({}) }] },
  catalog: { reload: async () => ({ indexes: [ROWS] }), current: () => ({ indexes: [] }) },
} as unknown as EngineContext

test('rows are upserted with the version that will be committed, and their included bytes', async () => {
  const sent: unknown[] = []
  const { signal } = new AbortController()
  const submitAll = async (rows: unknown, given: unknown): Promise<void> => {
    expect(given).toBe(signal)
    sent.push(rows)
  }
  const lanes = { upsert: { submitAll } } as unknown as RowLanes
  const rows = [keyOf('a', ROWS), { ...keyOf('b', ROWS), included: Buffer.from('x') }]
  expect(await writeEarly(context, () => lanes, placement, rows, ID, 7, signal)).toEqual([])
  expect(sent).toEqual([
    [
      { key: [Buffer.from('a')], entityId: ID, version: 7, included: undefined },
      { key: [Buffer.from('b')], entityId: ID, version: 7, included: Buffer.from('x') },
    ],
  ])
})

test.each<[string, unknown, object]>([
  [
    'an unknown outcome',
    errorOf('OUTCOME_UNKNOWN'),
    {
      code: 'SHARD_UNAVAILABLE',
      message: 'No. This concerns an index row only: the entity was not written.',
      shard: 'one',
    },
  ],
  [
    'an unknown outcome and a code of its own',
    new LooseleafError('DEADLINE', 'Slow.', { shard: 'one', unknownOutcome: true }),
    {
      code: 'DEADLINE',
      message: 'Slow. This concerns an index row only: the entity was not written.',
      unknownOutcome: false,
    },
  ],
  ['a known outcome', errorOf('SHARD_BUSY'), { code: 'SHARD_BUSY', message: 'No.' }],
  ['a mistake', new TypeError('a mistake'), new TypeError('a mistake')],
])('a row with %s leaves the entity unwritten', async (_, error, expected) => {
  const lanes = { upsert: { submitAll: () => Promise.reject(error) } } as unknown as RowLanes
  const [failure] = await writeEarly(context, () => lanes, placement, [keyOf('a', ROWS)], ID, 7)
  expect(failure).toMatchObject({ table: 'index_by_name_1', error: expected })
  const claiming = claimEarly(context, () => Promise.reject(error), placement, [keyOf('a')], ID, 7, undefined)
  await expect(claiming).rejects.toMatchObject(expected)
})

test('keys are claimed at the same time, and all have ended before the call does', async () => {
  const taken: unknown[] = []
  const take: TakeKey = async (shard, { table }, row) => {
    await turn()
    taken.push([shard, table, nameOf(row.key)])
    return row
  }
  await claimEarly(context, take, placement, [keyOf('a'), keyOf('b')], ID, 7, undefined)
  expect(taken).toEqual([
    [0, 'claims_by_name_1', 'a'],
    [0, 'claims_by_name_1', 'b'],
  ])
})

test('the first failure of a claim counts, and ends the other tries', async () => {
  const ended: unknown[] = []
  const caller = new AbortController()
  const take: TakeKey = async (_, __, { key }, signal) => {
    await turn()
    if (nameOf(key) === 'a') throw errorOf('SHARD_BUSY', 'first')
    await turn()
    ended.push(signal?.aborted)
    throw errorOf('ABORTED', 'second')
  }
  for (const signal of [undefined, caller.signal]) {
    const claiming = claimEarly(context, take, placement, [keyOf('a'), keyOf('b')], ID, 7, signal)
    await expect(claiming).rejects.toMatchObject({ shard: 'first' })
  }
  expect(ended).toEqual([true, true])
  expect(caller.signal.aborted).toBe(false)
})

test('a signal of the caller ends all claims', async () => {
  const caller = new AbortController()
  const take: TakeKey = async (_, __, row, signal) => {
    caller.abort()
    signal!.throwIfAborted()
    return row
  }
  const claiming = claimEarly(context, take, placement, [keyOf('a')], ID, 7, caller.signal)
  await expect(claiming).rejects.toBe(caller.signal.reason)
})

test('a claim of an index that was dropped does not end the others', async () => {
  const ended: unknown[] = []
  const take: TakeKey = async (_, __, row, signal) => {
    if (nameOf(row.key) === 'a') throw errorOf('INDEX_NOT_FOUND')
    await turn()
    ended.push(signal?.aborted)
    return row
  }
  await claimEarly(context, take, placement, [keyOf('a'), keyOf('b')], ID, 7, undefined)
  expect(ended).toEqual([false])
})

test('a claim of an index that was dropped is not needed', async () => {
  const take = (): Promise<never> => Promise.reject(errorOf('INDEX_NOT_FOUND'))
  await claimEarly(context, take, placement, [keyOf('a'), keyOf('b')], ID, 7, undefined)
  const claiming = claimEarly(storeOf({}), take, placement, [keyOf('a')], ID, 7, undefined)
  await expect(claiming).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND' })
})

/** A store with this table of claims, whose other entity counts as committed with every key. */
function storeOf(claims: object) {
  const current = {
    indexes: [],
    placement: { isServed: () => true, shardOfId: () => 0 },
    policies: { deleteDelayMs: 0 },
  }
  // No version that this program knows, so it counts as one with the key.
  const read = async (): Promise<object[]> => [{ id: OTHER, version: 'unknown', body: null }]
  return {
    router: {},
    time: { now: () => 0, elapsed: () => 0 },
    driver: { shards: [{ name: 'one', claims: () => claims, entities: { read } }] },
    catalog: { current: () => current, reload: async () => ({ indexes: [CLAIMS] }) },
  } as unknown as EngineContext
}

const holding = (row: IndexRow): IndexRow => ({ ...row, entityId: OTHER })

test('a key of another entity is a duplicate, unless the commit takes it from that entity', async () => {
  const take: TakeKey = async (_, __, row) => holding(row)
  const claim = (mayPass?: (key: PlacedKey, holder: Uint8Array) => boolean): Promise<void> =>
    claimEarly(storeOf({}), take, placement, [keyOf('a')], ID, 7, undefined, mayPass)
  const duplicate = { code: 'DUPLICATE_KEY', entity: formatId(ID), holder: formatId(OTHER) }
  await expect(claim()).rejects.toMatchObject(duplicate)
  await expect(claim(() => false)).rejects.toMatchObject(duplicate)
  await claim((key, holder) => {
    expect([key, holder]).toEqual([keyOf('a'), OTHER])
    return true
  })
})

const rowOf = (name: string): IndexRow => ({ key: [Buffer.from(name)], entityId: ID, version: 7 })

test('rows of an entity that was read are written by one statement', async () => {
  const { signal } = new AbortController()
  const sent: unknown[] = []
  const upsert = async (...args: unknown[]): Promise<void> => {
    await turn()
    sent.push(args)
  }
  const driver = { shards: [{}, { index: () => ({ upsert }) }] }
  const written = await writeAgain({ driver } as unknown as EngineContext, ROWS, 1, [rowOf('a')], signal)
  expect(written).toEqual({ duplicates: [], later: [] })
  expect(sent).toEqual([[[rowOf('a')], { signal }]])
})

test('claims that cannot be taken are duplicates, or are left for later', async () => {
  let isFirst = true
  const tried: unknown[] = []
  const claims = {
    async take(rows: readonly IndexRow[], options: unknown) {
      expect(options).toEqual({ signal })
      if (!isFirst) {
        tried.push(...rows.map(({ key }) => nameOf(key)))
        if (nameOf(rows[0]!.key) === 'contested') throw errorOf('CONFLICT')
      }
      isFirst = false
      const isFree = (name: string): boolean => name === 'free' || (name === 'freed' && rows.length === 1)
      return rows.map((row) => (isFree(nameOf(row.key)) ? row : holding(row)))
    },
  }
  const { signal } = new AbortController()
  const rows = ['free', 'held', 'freed', 'contested', 'held too'].map(rowOf)
  let statements = 0
  const written = await writeAgain(storeOf(claims), CLAIMS, 0, rows, signal, (statement) => {
    statements++
    return statement()
  })
  expect(written).toEqual({
    duplicates: [
      { claim: rowOf('held'), holder: OTHER },
      { claim: rowOf('held too'), holder: OTHER },
    ],
    later: [rowOf('contested')],
  })
  expect(tried).toEqual(['held', 'freed', 'contested', 'held too'])
  expect(statements).toBe(1)
})

test('any other failure of a claim ends the pass', async () => {
  let isFirst = true
  const take = async (rows: readonly IndexRow[]): Promise<IndexRow[]> => {
    if (!isFirst) throw errorOf('SHARD_BUSY')
    isFirst = false
    return rows.map(holding)
  }
  await expect(writeAgain(storeOf({ take }), CLAIMS, 0, [rowOf('a')], undefined)).rejects.toMatchObject({
    code: 'SHARD_BUSY',
  })
})
