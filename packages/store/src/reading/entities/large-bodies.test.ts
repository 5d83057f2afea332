import { randomBytes } from 'node:crypto'
import { envelopeCodec, msgpackZlibCodec } from '@looseleaf/codec'
import type { Codec, Driver, EntityId } from '@looseleaf/core'
import { wrapShard, type BoundedRow } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { isLong } from '@looseleaf-tooling/vitest/long'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../../data-store.ts'

const MiB = 1024 * 1024

const byGroup = defineIndex('by_group', {
  properties: { group: 'integer' },
  shardOn: 'group',
  include: ['text'],
})
const byRank = defineIndex('by_rank', { properties: { group: 'integer', rank: 'integer' }, shardOn: 'group' })

/** Bytes of bodies in the largest answer with several bodies. */
interface Answers {
  largest: number
}

/** Wraps a driver, and records the sizes of its answers. */
function watched(driver: Driver, answers: Answers): Driver {
  const note = (rows: readonly (Pick<BoundedRow, 'body'> | undefined)[]): void => {
    const bodies = rows.flatMap((row) => (row?.body ? [row.body.length] : []))
    if (bodies.length > 1)
      answers.largest = Math.max(
        answers.largest,
        bodies.reduce((sum, length) => sum + length, 0),
      )
  }
  const noted = async <Row extends Pick<BoundedRow, 'body'> | undefined>(
    reading: Promise<readonly Row[]>,
  ) => {
    const rows = await reading
    note(rows)
    return rows
  }
  const shards = driver.shards.map((shard) =>
    wrapShard(shard, {
      entities: (table) => ({
        read: (...args) => noted(table.read(...args)),
        readBounded: (...args) => noted(table.readBounded(...args)),
        pageByAdded: (...args) => noted(table.pageByAdded(...args)),
      }),
    }),
  )
  return { ...driver, shards }
}

/** Makes the default codec with a count of the bytes that it has decoded. */
function countedCodec(): Codec & { decoded: number } {
  const plain = msgpackZlibCodec()
  const codec = {
    ...plain,
    decoded: 0,
    decode(body: Uint8Array) {
      codec.decoded += plain.decodedBytes!(body)
      return plain.decode(body)
    },
  }
  return codec
}

let store: DataStore
const answers: Answers = { largest: 0 }

/** The bodies of these tests are random bytes, which zlib cannot compress. */
const uncompressed = envelopeCodec({ compression: 'none' })

async function open(codec: Codec = uncompressed): Promise<void> {
  answers.largest = 0
  const driver = watched(await memoryShards(2).connect(), answers)
  store = await DataStore.open({
    shards: { shardCount: 2, connect: async () => driver },
    indexes: [byRank, byGroup],
    codec,
    migrate: true,
  })
}

afterEach(() => store.close())

async function putAll(sizes: readonly number[]): Promise<EntityId[]> {
  const ids: EntityId[] = []
  for (const [rank, size] of sizes.entries())
    ids.push((await store.put({ group: 1, rank, data: randomBytes(size) })).id)
  return ids
}

const sizeOf = (entity: { readonly [name: string]: unknown } | undefined): number =>
  (entity!['data'] as Uint8Array).length

async function pagesOf(limit: number, order: 'asc' | 'desc') {
  const pages = [await store.query(byRank, { group: 1 }, { limit, order })]
  for (let cursor = pages[0]?.cursor; cursor !== undefined; cursor = pages.at(-1)?.cursor)
    pages.push(await store.query(byRank, { group: 1 }, { limit, order, cursor }))
  return pages
}

describe('entities of all sizes', () => {
  it('every way of reading finds entities of all sizes, in answers of bounded size', async () => {
    const sizes = fc.array(fc.constantFrom(0, 10, 5_000, 60_000, 400_000, 3_000_000), { maxLength: 30 })
    const options = fc.record({
      limit: fc.integer({ min: 1, max: 40 }),
      order: fc.constantFrom('asc' as const, 'desc' as const),
    })
    await fc.assert(
      fc.asyncProperty(sizes, options, async (list, { limit, order }) => {
        await open()
        const ids = await putAll(list)
        const inOrder = order === 'asc' ? ids : ids.toReversed()

        const pages = await pagesOf(limit, order)
        const items = pages.flatMap((page) => page.items)
        expect(items.map(({ id }) => id)).toEqual(inOrder)
        for (const item of items) expect(sizeOf(item)).toBe(list[Number(item.rank)])
        expect((await store.getAll(byRank, { group: 1 }, { order })).map(({ id }) => id)).toEqual(inOrder)
        expect(await store.count(byRank, { group: 1 }, { exact: true })).toBe(ids.length)

        const wanted = [...ids, store.newId(), ...inOrder]
        const found = await store.getMany(wanted)
        expect(found.map((entity) => entity?.id)).toEqual(
          wanted.map((id) => (ids.includes(id) ? id : undefined)),
        )
        const scanned: [EntityId, number][] = []
        for await (const entity of store.scan()) scanned.push([entity.id, sizeOf(entity)])
        expect(scanned.toSorted()).toEqual(ids.map((id, i) => [id, list[i]]).toSorted())
        // At most the bound of a group, and one long body.
        expect(answers.largest).toBeLessThan(8 * MiB + 3_100_000)
        await store.close()
      }),
      { numRuns: isLong ? 8 : 2 },
    )
    await open()
  }, 120_000)

  it('a page has as many entities as fit into 32 MiB', async () => {
    await open()
    const ids = await putAll(Array.from({ length: 7 }, () => 7 * MiB))
    const pages = await pagesOf(100, 'asc')
    expect(pages.map(({ items }) => items.length)).toEqual([5, 2])
    expect(pages.map(({ cost }) => cost.complete)).toEqual([false, true])
    expect(pages.flatMap(({ items }) => items.map(({ id }) => id))).toEqual(ids)
    expect(await store.getAll(byRank, { group: 1 })).toHaveLength(7)
    expect(answers.largest).toBeLessThan(16 * MiB)
  }, 60_000)

  it('the bytes of a page count bodies without compression', async () => {
    await open(msgpackZlibCodec())
    const text = 'a page of the same letter '.repeat(300_000)
    for (let rank = 0; rank < 6; rank++) await store.put({ group: 1, rank, text })
    const pages = await pagesOf(100, 'desc')
    expect(pages.map(({ items }) => items.length)).toEqual([5, 1])
  }, 60_000)

  describe('with short compressed bodies', () => {
    let codec: ReturnType<typeof countedCodec>
    beforeEach(async () => {
      codec = countedCodec()
      await open(codec)
      const text = 'x'.repeat(2 * MiB)
      await store.putMany(Array.from({ length: 20 }, (_, rank) => ({ group: 1, rank, text })))
      codec.decoded = 0
    })

    it('a page of a list ends at 32 MiB, and decodes little more', async () => {
      const page = await store.list(byGroup, { group: 1 }, { limit: 100 })
      expect(page.items).toHaveLength(16)
      // Three items are decoded together, so up to two more than the page has.
      expect(page.cost).toMatchObject({ complete: false, entitiesCovered: 18 })
      expect(codec.decoded).toBeLessThan(40 * MiB)
      const rest = await store.list(byGroup, { group: 1 }, { limit: 100, cursor: page.cursor })
      expect(new Set([...page.items, ...rest.items].map(({ id }) => id)).size).toBe(20)
    })

    it('changes decode some MiB at a time', async () => {
      const seen = new Set<EntityId>()
      for await (const { id } of store.changes({ from: 'beginning' })) {
        seen.add(id)
        // The changes taken, and one group in memory for each of the two shards.
        expect(codec.decoded).toBeLessThan(seen.size * 2.2 * MiB + 2 * 8.5 * MiB)
        if (seen.size === 20) break
      }
    })
  })
})
