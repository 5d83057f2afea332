import { envelopeCodec, jsonFormat, msgpackFormat } from '@looseleaf/codec'
import { parseId, type Bag, type ErrorCode, type IndexDefinitionData, type Shard } from '@looseleaf/core'
import { MAX_VALUES } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { withCode } from '@looseleaf-tooling/kit/errors'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from './data-store.ts'
import type { DataStoreOptions } from './types.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'id' })
const byScore = defineIndex('by_score', { properties: { score: 'number' }, shardOn: 'id' })
const bySize = defineIndex('by_size', { properties: { size: 'integer' }, shardOn: 'id' })

let store: DataStore
beforeEach(async () => {
  store = await DataStore.open({
    shards: memoryShards(2),
    codec: envelopeCodec({ maxBodyBytes: 150_000 }),
    indexes: [byName, byScore, bySize],
    migrate: true,
  })
})
afterEach(() => store.close())

async function isEmpty(): Promise<boolean> {
  const { shards } = await store.status()
  const rows = await store.count(byName, {}, { scatter: true })
  return rows === 0 && shards.every(({ entities, tombstones }) => entities === 0 && tombstones === 0)
}

describe('ids', () => {
  it.each<[string, unknown]>([
    ['an empty string', ''],
    ['15 bytes', '0192f0c1-7c1e-7abc-8def-0123456789'],
    ['17 bytes', '0192f0c1-7c1e-7abc-8def-0123456789abcd'],
    ['no hyphens', '0192f0c17c1e7abc8def0123456789ab'],
    ['other letters', 'g192f0c1-7c1e-7abc-8def-0123456789ab'],
    ['a number', 17],
    ['null', null],
    ['bytes', new Uint8Array(16)],
  ])('every call rejects a malformed id: %s', async (_, id) => {
    const bad = id as string
    const calls = [
      () => store.get(bad),
      () => store.getMany([store.newId(), bad]),
      () => store.put({ n: 1 }, { id: bad }),
      () => store.put({ id: bad, n: 1 }),
      () => store.insert({ n: 1 }, { id: bad }),
      () => store.update(bad, (bag) => bag),
      () => store.delete(bad),
    ]
    for (const call of calls) {
      await expect(call()).rejects.toEqual(withCode('BAD_ID'))
    }
    expect(await isEmpty()).toBe(true)
  })

  it('an update that changes the id is rejected', async () => {
    const { id } = await store.put({ n: 1 })
    await expect(store.update(id, (bag) => ({ ...bag, id: store.newId() }))).rejects.toEqual(
      withCode('BAD_ID'),
    )
    expect(await store.get(id)).toEqual({ id, n: 1 })
  })
})

describe('bags', () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  it.each<[string, unknown, RegExp]>([
    ['a function', { name: 'x', f: () => 1 }, /^f /],
    ['a symbol', { name: 'x', deep: [{ s: Symbol('s') }] }, /^deep\[0\]\.s /],
    ['a class of one’s own', { name: 'x', m: new Map() }, /^m .*Map/],
    ['an invalid Date', { name: 'x', at: new Date(Number.NaN) }, /^at /],
    ['a bigint of 65 bits', { name: 'x', big: 2n ** 64n }, /^big /],
    ['a hole in an array', { name: 'x', list: [1, undefined, 2] }, /^list\[1\] /],
    ['a lone surrogate', { name: 'x', text: 'a\ud800b' }, /^text /],
    ['a lone surrogate in a name', { name: 'x', 'a\udc00': 1 }, /lone surrogate/],
    ['__proto__', { name: 'x', deep: JSON.parse('{"__proto__": 1}') as Bag }, /^deep\.__proto__ /],
    ['a circle', { name: 'x', circle }, /circle/],
    ['an array', ['x'], /plain object/],
    ['a string', 'x', /plain object/],
    ['null', null, /plain object/],
  ])('put rejects %s with its path, and writes nothing', async (_, bag, message) => {
    await expect(store.put(bag as Bag)).rejects.toEqual(withCode('BAD_PROPERTY'))
    await expect(store.put(bag as Bag)).rejects.toThrow(message)
    expect(await isEmpty()).toBe(true)
  })

  it('put rejects a body over the limit, and writes nothing', async () => {
    const text = Buffer.from(Array.from({ length: 120_000 }, (_, i) => (i * 7919) % 251)).toString('base64')
    await expect(store.put({ name: 'x', text })).rejects.toEqual(withCode('BODY_TOO_LARGE'))
    expect(await isEmpty()).toBe(true)
  })

  it('a bag keeps NaN and infinities, -0 becomes 0, and undefined is dropped', async () => {
    const { id } = await store.put({ nan: Number.NaN, inf: -Infinity, zero: -0, gone: undefined })
    const entity = await store.get(id)
    expect(entity).toStrictEqual({ id, nan: Number.NaN, inf: -Infinity, zero: 0 })
  })
})

describe('index values', () => {
  it.each<[string, Bag]>([
    ['NaN', { score: Number.NaN }],
    ['infinity', { score: Infinity }],
    ['a fraction for an integer', { size: 1.5 }],
    ['an unsafe integer', { size: 2 ** 53 }],
    ['a bigint beyond 64 bits with sign', { size: 2n ** 63n }],
    ['another type', { name: 5 }],
    ['an array for a scalar', { name: ['x'] }],
  ])('put rejects %s for an indexed property, and writes nothing', async (_, bag) => {
    await expect(store.put({ ...bag, other: true })).rejects.toMatchObject({
      code: 'BAD_INDEX_VALUE',
      index: expect.any(String),
    })
    expect(await isEmpty()).toBe(true)
  })

  it('an index keeps strings apart byte by byte, in the order of the bytes', async () => {
    const long = 'x'.repeat(3999)
    const names = [
      '',
      ' ',
      'a',
      'a ',
      'a\0',
      'A',
      'á',
      'a\u0301',
      'ä',
      'z',
      'é',
      '\u{1f600}',
      '\uffee',
      `${long}a`,
      `${long}b`,
      'x'.repeat(512),
      'x'.repeat(513),
      '0',
      '\\',
      "'",
      '%',
      '_',
    ]
    const ids = new Map<string, string>()
    for (const name of names) ids.set(name, (await store.put({ name })).id)
    for (const name of names) {
      const found = await store.getAll(byName, { name }, { scatter: true })
      expect(found.map((entity) => entity.id)).toEqual([ids.get(name)])
    }
    const all = await store.getAll(byName, {}, { scatter: true })
    const short = (name: string): string => name.slice(0, 512)
    expect(all.map((entity) => short(entity.name))).toEqual(
      names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))).map(short),
    )
  })

  it('a query rejects a lone surrogate', async () => {
    await expect(store.query(byName, { name: '\ud800' }, { scatter: true })).rejects.toEqual(
      withCode('BAD_QUERY'),
    )
  })
})

describe('queries', () => {
  it.each<[string, () => Promise<unknown>, ErrorCode]>([
    [
      'a property that is not indexed',
      () => store.query(byName, { nam: 'x' } as never, { scatter: true }),
      'BAD_QUERY',
    ],
    [
      'a value of another type',
      () => store.query(byName, { name: 1 as never }, { scatter: true }),
      'BAD_QUERY',
    ],
    ['an empty range', () => store.query(byName, { name: {} as never }, { scatter: true }), 'BAD_QUERY'],
    ['no shard and no scatter', () => store.query(byName, { name: 'x' }), 'BAD_QUERY'],
    ['a limit of 0', () => store.query(byName, {}, { scatter: true, limit: 0 }), 'BAD_QUERY'],
    ['a limit over 1,000', () => store.query(byName, {}, { scatter: true, limit: 1001 }), 'BAD_QUERY'],
    ['a cursor of no query', () => store.query(byName, {}, { scatter: true, cursor: 'abc' }), 'BAD_CURSOR'],
    [
      'an order of its own',
      () => store.query(byName, {}, { scatter: true, order: 'up' as never }),
      'BAD_QUERY',
    ],
  ])('a query rejects %s', async (_, call, code) => {
    await expect(call()).rejects.toEqual(withCode(code))
  })

  it('a query rejects the cursor of another query', async () => {
    await store.putMany([{ name: 'a' }, { name: 'b' }, { score: 1 }, { score: 2 }])
    const { cursor } = await store.query(byName, {}, { scatter: true, limit: 1 })
    expect(cursor).toBeTypeOf('string')
    const other = store.query(byScore, {}, { scatter: true, limit: 1, ...(cursor && { cursor }) })
    await expect(other).rejects.toEqual(withCode('BAD_CURSOR'))
  })
})

describe('bodies', () => {
  const foreign = envelopeCodec({ format: { ...jsonFormat, id: 31, name: 'foreign' } })

  /** Returns a body with more values than a bag may have, which no codec writes. */
  function overfull(): Uint8Array {
    const values = Buffer.alloc(MAX_VALUES, 0xc0)
    const head = Buffer.from('81a161dd00000000', 'hex')
    head.writeUInt32BE(MAX_VALUES, 4)
    const format = { ...msgpackFormat, encode: () => Buffer.concat([head, values]) }
    return envelopeCodec({ format, alsoReads: [] }).encode({})
  }

  async function damage(id: string, change: (body: Buffer) => Uint8Array): Promise<void> {
    const bytes = parseId(id)
    const shard = store.context.driver.shards[store.context.router.shardOfId(bytes)] as Shard
    const [row] = await shard.entities.read([bytes])
    const epoch = store.context.catalog.current().epochs[0]!
    const body = change(Buffer.from(row!.body!))
    await shard.entities.replace([{ id: bytes, base: row!.version, version: row!.version + 1, body }], {
      epoch,
    })
  }

  it.each<[string, (body: Buffer) => Uint8Array, ErrorCode]>([
    ['truncated', (body) => body.subarray(0, body.length - 1), 'BODY_DAMAGED'],
    ['empty', () => new Uint8Array(), 'BODY_DAMAGED'],
    ['flipped', (body) => ((body[body.length - 1]! ^= 4), body), 'BODY_DAMAGED'],
    ['of too many values', overfull, 'BODY_TOO_LARGE'],
    ['of an unknown format', () => foreign.encode({ name: 'x' }), 'BODY_UNKNOWN'],
  ])('a body that is %s is an error with its id, and can be replaced', async (_, change, code) => {
    const { id } = await store.put({ name: 'x' })
    await damage(id, change)
    await expect(store.get(id)).rejects.toEqual(withCode(code))
    await expect(store.get(id)).rejects.toThrow(id)
    await expect(store.update(id, (bag) => bag)).rejects.toEqual(withCode(code))
    await expect(store.insert({}, { id })).rejects.toEqual(withCode('ALREADY_EXISTS'))
    await store.put({ name: 'y' }, { id })
    expect(await store.get(id)).toEqual({ id, name: 'y' })
    await damage(id, change)
    expect(await store.delete(id)).toBe(true)
    expect(await store.get(id)).toBeUndefined()
  })
})

describe('a row with a version that no write can have given', () => {
  it('reads and writes reject a row with an impossible version as damaged', async () => {
    const id = store.newId()
    const bytes = parseId(id)
    const number = store.context.router.shardOfId(bytes)
    const { entities } = store.context.driver.shards[number] as Shard
    const body = store.context.codec.encode({ name: 'x' })
    const epoch = store.context.catalog.current().epochs[number]!
    await entities.insert([{ id: bytes, version: 0, body }], { epoch })
    const other = await store.put({ name: 'y' })
    const calls = [
      () => store.get(id),
      () => store.put({ name: 'z' }, { id }),
      () => store.insert({ name: 'z' }, { id }),
      () => store.update(id, (bag) => bag),
      () => store.delete(id),
      async () => {
        for await (const _ of store.scan()) void _
      },
    ]
    for (const call of calls) {
      const refused = call()
      await expect(refused).rejects.toEqual(withCode('BODY_DAMAGED'))
      await expect(refused).rejects.toThrow(new RegExp(`${id}.*version 0.*damaged --repair`))
    }
    expect(await entities.readVersions([bytes])).toEqual([0])
    expect(await store.get(other.id)).toEqual({ id: other.id, name: 'y' })
  })
})

describe('options', () => {
  it('open rejects a router for another number of shards', async () => {
    const { bucketRouter } = await import('@looseleaf/router')
    const bad = DataStore.open({ shards: memoryShards(2), router: bucketRouter({ shards: 3 }) })
    await expect(bad).rejects.toEqual(withCode('BAD_OPTION'))
  })

  it('put rejects a misspelt ifVersion instead of overwriting the entity', async () => {
    const { id, version } = await store.put({ n: 1 })
    const misspelt = { id, ifversion: version - 1 } as object
    await expect(store.put({ n: 2 }, misspelt)).rejects.toEqual(withCode('BAD_OPTION'))
    expect(await store.get(id)).toEqual({ id, n: 1 })
  })

  it('writes reject an ifVersion that is explicitly undefined, and send nothing', async () => {
    const { id } = await store.put({ n: 1 })
    const missing = { ifVersion: undefined } as object
    const calls = [
      ['put', () => store.put({ n: 2 }, { id, ...missing })],
      ['update', () => store.update(id, () => ({ n: 2 }), missing)],
      ['delete', () => store.delete(id, missing)],
    ] as const
    for (const [name, call] of calls) {
      await expect(call()).rejects.toMatchObject({
        code: 'BAD_OPTION',
        message: expect.stringMatching(
          new RegExp(
            `^The option ifVersion of ${name} has to be a version.*leave the option out.*got nothing`,
          ),
        ),
      })
    }
    expect(await store.get(id)).toEqual({ id, n: 1 })
  })

  it('putMany rejects the options of a single put', async () => {
    const bags = [{ n: 1 }, { n: 2 }]
    await expect(store.putMany(bags, { id: store.newId() } as object)).rejects.toEqual(withCode('BAD_OPTION'))
    expect(await isEmpty()).toBe(true)
  })

  it('put rejects an instance of a class, even with an id', async () => {
    class Entry {
      readonly id = store.newId()
    }
    await expect(store.put(new Entry() as never)).rejects.toEqual(withCode('BAD_PROPERTY'))
    expect(await isEmpty()).toBe(true)
  })

  it('addIndex rejects a value that is no definition', async () => {
    await expect(store.addIndex({ name: 'a`b' } as never)).rejects.toEqual(withCode('BAD_INDEX'))
  })
})

it('open rejects the policy keepTombstonesMs, and names setPolicies', async () => {
  const options = { shards: memoryShards(1), migrate: true }
  await expect(
    DataStore.open({ ...options, keepTombstonesMs: 7_200_000 } as DataStoreOptions),
  ).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringMatching(/keepTombstonesMs.*store\.setPolicies/),
  })
  await expect(DataStore.open({ ...options, migrat: true } as DataStoreOptions)).rejects.toMatchObject({
    message: expect.not.stringContaining('keepTombstonesMs'),
  })
})

it('open rejects two definitions of one index with different onMisfit, and accepts the same one twice', async () => {
  const define = (options: object = {}): IndexDefinitionData =>
    defineIndex('name', { properties: { name: 'string' }, shardOn: 'name', ...options })
  const open = (...indexes: readonly IndexDefinitionData[]): Promise<DataStore> =>
    DataStore.open({ shards: memoryShards(1), indexes, migrate: true })
  const opened = await open(define(), define())
  const differ = {
    code: 'BAD_INDEX',
    message: expect.stringMatching(
      /^Index name is given twice, .* another (unique|onMisfit); give it once\.$/,
    ),
  }
  for (const options of [{ unique: true }, { onMisfit: 'skip' }]) {
    await expect(open(define(), define(options))).rejects.toMatchObject(differ)
    await expect(opened.addIndex([define(), define(options)])).rejects.toMatchObject(differ)
  }
  await opened.close()
})
