import { envelopeCodec, jsonFormat } from '@looseleaf/codec'
import { parseId, type EntityId, type LooseleafError, type Shard } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import type { OnDamaged } from '@looseleaf/index-engine/internal'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../../data-store.ts'
import type { DamagedEntity } from '../../types.ts'

const byGroup = defineIndex('by_group', {
  properties: { group: 'integer', rank: 'integer' },
  shardOn: 'group',
})
const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })

const foreign = envelopeCodec({ format: { ...jsonFormat, id: 31, name: 'foreign' } })

let store: DataStore
/** Five entities of one group. The second is damaged, and the fourth has a format that this process does not know. */
let ids: EntityId[]

beforeEach(async () => {
  store = await DataStore.open({ shards: memoryShards(2), indexes: [byGroup, byTag], migrate: true })
  ids = []
  for (let rank = 0; rank < 5; rank++) ids.push((await store.put({ group: 1, rank, tags: ['a', 'b'] })).id)
  await overwrite(ids[1]!, (body) => body.subarray(1))
  await overwrite(ids[3]!, () => foreign.encode({}))
})
afterEach(() => store.close())

function shardOf(id: EntityId): readonly [Shard, epoch: number] {
  const number = store.context.router.shardOfId(parseId(id))
  return [
    store.context.driver.shards[number] as Shard,
    store.context.catalog.current().epochs[number] as number,
  ]
}

async function overwrite(id: EntityId, change: (body: Buffer) => Uint8Array): Promise<void> {
  const [{ entities }, epoch] = shardOf(id)
  const [row] = await entities.read([parseId(id)])
  const { version: base } = row!
  const body = change(Buffer.from(row!.body!))
  await entities.replace([{ id: parseId(id), base, version: base + 1, body }], { epoch })
}

interface Options {
  readonly onDamaged?: OnDamaged
}

/** Every call that reads many entities, with the ids that it returns. */
const calls: [string, (options: Options) => Promise<readonly (EntityId | undefined)[]>][] = [
  ['query', async (options) => (await store.query(byGroup, { group: 1 }, options)).items.map(({ id }) => id)],
  ['getAll', async (options) => (await store.getAll(byGroup, { group: 1 }, options)).map(({ id }) => id)],
  ['getMany', async (options) => (await store.getMany(ids, options)).map((entity) => entity?.id)],
  [
    'scan',
    async (options) => {
      const found: EntityId[] = []
      for await (const { id } of store.scan(options)) found.push(id)
      return found.toSorted((a, b) => ids.indexOf(a) - ids.indexOf(b))
    },
  ],
  [
    'count with exact',
    async (options) => {
      const count = await store.count(byGroup, { group: 1 }, { ...options, exact: true })
      return Array.from({ length: count }, (_, i) => ids[2 * i])
    },
  ],
  [
    'count over all shards by the elements of an array',
    async (options) => {
      const count = await store.count(byTag, {}, { ...options, scatter: true })
      return Array.from({ length: count }, (_, i) => ids[2 * i])
    },
  ],
]

describe.each(calls)('%s', (name, call) => {
  it('the call fails with the error of an async onDamaged', async () => {
    const failure = new Error('the list of damaged entities is full')
    const onDamaged = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      throw failure
    }
    // If the call did not await the promise, its rejection would be unhandled and fail the test run.
    await expect(call({ onDamaged })).rejects.toBe(failure)
  })

  const others = (): unknown[] =>
    ids
      .map((id, rank) => (rank % 2 === 0 ? id : undefined))
      .filter((id) => name === 'getMany' || id !== undefined)

  it('the call fails at a damaged entity with its code and id by default', async () => {
    // One damaged entity at a time, so that the order does not matter.
    await store.put({ group: 1, rank: 3 }, { id: ids[3]! })
    const error = { code: 'BODY_DAMAGED', entity: ids[1], shard: shardOf(ids[1]!)[0].name }
    await expect(call({})).rejects.toMatchObject(error)
    await expect(call({ onDamaged: 'fail' })).rejects.toMatchObject(error)
    await store.delete(ids[1]!)
    await overwrite(ids[3]!, () => foreign.encode({}))
    await expect(call({})).rejects.toMatchObject({ code: 'BODY_UNKNOWN', entity: ids[3] })
  })

  it("the call leaves damaged entities out with 'skip'", async () => {
    expect(await call({ onDamaged: 'skip' })).toEqual(others())
  })

  it('the call leaves damaged entities out and passes each error to a function', async () => {
    const reported = new Set<string>()
    const onDamaged = ({ code, entity }: LooseleafError): void => void reported.add(`${code} ${entity}`)
    expect(await call({ onDamaged })).toEqual(others())
    expect([...reported].toSorted()).toEqual([`BODY_DAMAGED ${ids[1]}`, `BODY_UNKNOWN ${ids[3]}`])
  })

  it('the call rethrows the error of onDamaged', async () => {
    const onDamaged = (): never => {
      throw new Error('Enough.')
    }
    await expect(call({ onDamaged })).rejects.toThrow('Enough.')
  })

  it('the call rejects any other onDamaged', async () => {
    for (const onDamaged of ['ignore', true, 0, null]) {
      await expect((async () => call({ onDamaged: onDamaged as never }))()).rejects.toMatchObject({
        code: 'BAD_OPTION',
        message: expect.stringContaining('onDamaged') as unknown,
      })
    }
  })
})

it('a count of index rows reads no entity', async () => {
  expect(await store.count(byGroup, { group: 1 })).toBe(5)
})

describe('cost.damaged of a query', () => {
  it('cost.damaged has each entity that was left out once', async () => {
    const page = await store.query(byGroup, { group: 1 }, { onDamaged: 'skip' })
    expect(page.cost).toMatchObject({
      damaged: [ids[1], ids[3]],
      complete: true,
      rowsMatched: 3,
      rowsDiscarded: 2,
    })
    const { cost } = await store.query(byTag, {}, { scatter: true, onDamaged: () => undefined })
    expect(cost.damaged!.toSorted()).toEqual([ids[1]!, ids[3]!].toSorted())
  })

  it('cost.damaged is absent if no entity was left out', async () => {
    await store.delete(ids[1]!)
    await store.delete(ids[3]!)
    for (const options of [{}, { onDamaged: 'skip' as const }])
      expect((await store.query(byGroup, { group: 1 }, options)).cost).not.toHaveProperty('damaged')
  })

  it('cost.damaged is absent from an incomplete page without damaged entities', async () => {
    let now = Date.now()
    // Each reading of the clock is ten seconds later, so that every call takes too long.
    const time = { now: () => (now += 10_000), sleep: async () => {} }
    const slow = await DataStore.open({ shards: memoryShards(1), indexes: [byGroup], migrate: true, time })
    const { cost } = await slow.query(byGroup, { group: 1 }, { onDamaged: 'skip' })
    expect(cost.complete).toBe(false)
    expect(cost).not.toHaveProperty('damaged')
    await slow.close()
  })

  it('each page has its own cost.damaged, and continues after a damaged entity', async () => {
    const first = await store.query(byGroup, { group: 1 }, { limit: 2, onDamaged: 'skip' })
    const { cursor } = first
    const second = await store.query(byGroup, { group: 1 }, { limit: 2, onDamaged: 'skip', cursor: cursor! })
    expect([first, second].map(({ items }) => items.map(({ rank }) => rank))).toEqual([[0, 2], [4]])
    const leftOut = [first, second].flatMap(({ cost }) => cost.damaged ?? [])
    expect([...new Set(leftOut)]).toEqual([ids[1], ids[3]])
  })
})

async function damaged(): Promise<Map<EntityId, DamagedEntity>> {
  const found = new Map<EntityId, DamagedEntity>()
  for await (const entity of store.scanDamaged()) found.set(entity.id, entity)
  return found
}

/** Adds an entity and a tombstone with a version that no write can have given. */
async function addWithoutVersion(): Promise<[EntityId, EntityId]> {
  const bad: [EntityId, EntityId] = [store.newId(), store.newId()]
  for (const [i, id] of bad.entries()) {
    const [{ entities }, epoch] = shardOf(id)
    const body = i === 0 ? store.context.codec.encode({ fine: true }) : null
    await entities.insert([{ id: parseId(id), version: 0, body }], { epoch })
  }
  return bad
}

describe('scanDamaged', () => {
  it('scanDamaged yields every entity that cannot be decoded with its stored row, and no other', async () => {
    const [without, tombstone] = await addWithoutVersion()
    const found = await damaged()
    expect([...found.keys()].toSorted()).toEqual([ids[1]!, ids[3]!, without, tombstone].toSorted())
    for (const [id, entity] of found) {
      const [shard] = shardOf(id)
      const [row] = await shard.entities.read([parseId(id)])
      const body = row!.body && Buffer.from(row!.body)
      expect({ ...entity, body: entity.body && Buffer.from(entity.body) }).toMatchObject({
        version: row!.version,
        shard: shard.name,
        body,
        error: { entity: id },
      })
      expect(entity.updated.getTime()).toBe(Math.floor(row!.updated / 1000))
    }
    const codes = [ids[1]!, ids[3]!, without, tombstone].map((id) => found.get(id)!.error.code)
    expect(codes).toEqual(['BODY_DAMAGED', 'BODY_UNKNOWN', 'BODY_DAMAGED', 'BODY_DAMAGED'])
  })

  it('scanDamaged ends with its signal, and rejects on a closed store', async () => {
    const signal = AbortSignal.abort()
    const scan = store.scanDamaged({ signal })[Symbol.asyncIterator]()
    await expect(scan.next()).rejects.toMatchObject({ code: 'ABORTED' })
    const other = await DataStore.open({ shards: memoryShards(1), migrate: true })
    await other.close()
    expect(() => other.scanDamaged()).toThrow(expect.objectContaining({ code: 'CLOSED' }))
  })
})

describe('deleteDamaged', () => {
  it('deleteDamaged leaves a tombstone of a damaged entity', async () => {
    const found = (await damaged()).get(ids[1]!)!
    expect(await store.deleteDamaged(found)).toBe(true)
    expect(await store.get(ids[1]!)).toBeUndefined()
    const [row] = await shardOf(ids[1]!)[0].entities.read([parseId(ids[1]!)])
    expect(row).toMatchObject({ body: null })
    expect(row!.version).toBeGreaterThan(found.version)
    expect(await store.deleteDamaged(found)).toBe(false)
  })

  it('deleteDamaged does not delete an entity that another process may read', async () => {
    const found = await damaged()
    const { error } = found.get(ids[1]!)!
    const unknown = found.get(ids[3]!)!
    expect(await store.deleteDamaged(unknown)).toBe(false)
    expect(await store.deleteDamaged({ ...unknown, error })).toBe(false)
    expect((await damaged()).get(ids[3]!)).toEqual(unknown)
  })

  it('deleteDamaged does not delete an entity whose version or bytes have changed', async () => {
    const found = (await damaged()).get(ids[1]!)!
    const otherBytes = { ...found, body: found.body!.subarray(1) }
    for (const other of [otherBytes, { ...found, body: null }, { ...found, version: found.version - 1 }])
      expect(await store.deleteDamaged(other)).toBe(false)
    await overwrite(ids[1]!, (body) => body)
    expect(await store.deleteDamaged(found)).toBe(false)
    expect((await damaged()).has(ids[1]!)).toBe(true)
    await store.put({ group: 1, rank: 1 }, { id: ids[1]! })
    expect(await store.deleteDamaged(found)).toBe(false)
    expect(await store.get(ids[1]!)).toMatchObject({ rank: 1 })
  })

  it('deleteDamaged does not delete a row with an impossible version, whose body may be whole', async () => {
    const bad = await addWithoutVersion()
    const found = await damaged()
    for (const id of bad) expect(await store.deleteDamaged(found.get(id)!)).toBe(false)
    expect([...(await damaged()).keys()]).toEqual(expect.arrayContaining(bad))
  })
})
