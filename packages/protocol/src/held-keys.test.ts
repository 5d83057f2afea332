import { formatId, LooseleafError, type Bag } from '@looseleaf/core'
import type { CatalogEntry, EntityRow, IndexRow } from '@looseleaf/core/internal'
import { deriveClaims, type EngineContext, type Placement } from '@looseleaf/index-engine/internal'
import { entryOf } from '@looseleaf-tooling/kit/catalogs'
import { expect, test } from 'vitest'
import { duplicateKey, hasKey, takeKey, takeKeyAt, type TakeKey } from './claims.ts'

const ENTRY = entryOf({
  properties: [{ name: 'names', type: 'string', many: true }],
  table: 'claims_by_name_1',
  unique: true,
})
const KEY = deriveClaims(ENTRY, { names: ['ada'] })[0]!
const [ID, HOLDER] = [1, 2].map((n) => Buffer.alloc(16, n)) as [Buffer, Buffer]

/** A store whose bodies have these names, and whose entities are all at this row. */
function storeOf(names: readonly string[] | Error, row?: EntityRow): EngineContext {
  const shard = { name: 'one', claims: () => ({}), entities: { read: async () => [row] } }
  const decode = async (_: Uint8Array, shardName: string): Promise<Bag> => {
    expect(shardName).toBe('one')
    if (names instanceof Error) throw names
    return { names: [...names] }
  }
  const current = { placement: { shardOfId: () => 0, isServed: () => true } }
  return {
    router: {},
    time: { now: () => 0 },
    driver: { shards: [shard, shard] },
    catalog: { current: () => current },
    bodies: { decode },
  } as unknown as EngineContext
}

const rowOf = (version: number, body: Uint8Array | null = Buffer.from('body')): EntityRow => ({
  id: HOLDER,
  version,
  body,
  updated: 0,
})

test.each<[string, readonly string[], boolean]>([
  ['the key among others', ['eve', 'ada'], true],
  ['other keys', ['eve', 'bob'], false],
  ['no key', [], false],
])('an entity with %s', async (_, names, has) => {
  expect(await hasKey(storeOf(names), ENTRY, KEY, rowOf(7))).toBe(has)
})

test('an absent entity and a tombstone have no key', async () => {
  expect(await hasKey(storeOf(['ada']), ENTRY, KEY, undefined)).toBe(false)
  expect(await hasKey(storeOf(['ada']), ENTRY, KEY, rowOf(7, null))).toBe(false)
})

test('an entity whose version or body cannot be read counts as having every key', async () => {
  expect(await hasKey(storeOf([]), ENTRY, KEY, rowOf(Number.MAX_SAFE_INTEGER + 7, null))).toBe(true)
  const damaged = new LooseleafError('BODY_DAMAGED', 'No.')
  expect(await hasKey(storeOf(damaged), ENTRY, KEY, rowOf(7))).toBe(true)
  const error = new TypeError('a mistake')
  await expect(hasKey(storeOf(error), ENTRY, KEY, rowOf(7))).rejects.toBe(error)
})

const VERSION = 9
const WANTED = { entry: ENTRY, key: KEY, entityId: ID, version: VERSION }

/** Takes the key on one shard whose table has these answers; the last one stays. Returns the number of tries. */
async function triesFor(...answers: (IndexRow | undefined)[]): Promise<number> {
  let tries = 0
  const take: TakeKey = async () => (tries++, answers.length > 1 ? answers.shift() : answers[0])
  expect(await takeKeyAt(storeOf([]), take, 0, WANTED)).toBeUndefined()
  return tries
}

const ownClaim = (version: number): IndexRow => ({ key: KEY, entityId: ID, version })

test('a claim with the stamp of the attempt, or a greater one, is held', async () => {
  expect(await triesFor(ownClaim(VERSION))).toBe(1)
  expect(await triesFor(ownClaim(VERSION + 1))).toBe(1)
})

test('a claim of an earlier attempt, or one that was deleted meanwhile, is taken again', async () => {
  expect(await triesFor(ownClaim(VERSION - 1), undefined, ownClaim(VERSION))).toBe(3)
})

test('a claim that is lost again and again is a conflict', async () => {
  let tries = 0
  const take: TakeKey = async () => {
    tries++
    return undefined
  }
  await expect(takeKeyAt(storeOf([]), take, 0, WANTED)).rejects.toMatchObject({
    code: 'CONFLICT',
    entity: formatId(ID),
    index: 'by_name',
    message: expect.stringContaining('took it and gave it up 64 times in a row'),
  })
  expect(tries).toBe(64)
})

/** Takes the key on these shards, one of which has a claim of another entity. */
async function takeAt(shards: readonly number[], held?: number): Promise<readonly [unknown, number[]]> {
  const asked: number[] = []
  const take: TakeKey = async (shard, _, row): Promise<IndexRow> => {
    await Promise.resolve()
    asked.push(shard)
    return shard === held ? { ...row, entityId: HOLDER } : row
  }
  const placement = { rows: { writtenOfId: () => shards } } as unknown as Placement
  return [await takeKey(storeOf(['ada'], rowOf(7)), take, placement, WANTED), asked]
}

test('a key whose bucket moves is taken at the source before the target', async () => {
  expect(await takeAt([1])).toEqual([undefined, [1]])
  expect(await takeAt([1, 0])).toEqual([undefined, [1, 0]])
  expect(await takeAt([1, 0], 0)).toEqual([HOLDER, [1, 0]])
})

test('a key that another entity holds at the source is not taken at the target', async () => {
  expect(await takeAt([1, 0], 1)).toEqual([HOLDER, [1]])
})

/** Returns the error of a duplicate key in a store with these generations, besides the claims. */
function messageWith(...generations: readonly Partial<CatalogEntry>[]): string {
  const rows = generations.map((parts, i) => ({ ...ENTRY, unique: undefined, generation: i + 1, ...parts }))
  const current = { indexes: [...rows, { ...ENTRY, generation: 9 }] }
  const context = { catalog: { current: () => current } } as unknown as EngineContext
  const error = duplicateKey(context, ENTRY, ID, HOLDER)
  expect(error).toMatchObject({
    code: 'DUPLICATE_KEY',
    index: 'by_name',
    entity: formatId(ID),
    holder: formatId(HOLDER),
  })
  return error.message
}

const OTHER_KEYS = { properties: [{ name: 'mail', type: 'string', many: false }] } as const

test('a duplicate key names the generations with these claims if others have other keys', () => {
  const plain = `Index by_name is unique: entity ${formatId(ID)} was not written, because entity ${formatId(HOLDER)} has its key.`
  expect(messageWith({}, {})).toBe(plain)
  expect(messageWith(OTHER_KEYS)).toBe(plain)
  expect(messageWith({}, { ...OTHER_KEYS, state: 'dropped' })).toBe(plain)
  expect(messageWith({}, { ...OTHER_KEYS, name: 'by_mail' })).toBe(plain)
  expect(messageWith({}, OTHER_KEYS)).toMatch(
    /^Index by_name, generation 1 \(.*\), is unique: .* in use: 1, 2\.$/,
  )
  expect(messageWith({}, {}, OTHER_KEYS)).toMatch(
    /^Index by_name, generations 1, 2 \(.*\), is unique: .* Writes of all programs have to satisfy every generation in use: 1, 2, 3\.$/,
  )
})
