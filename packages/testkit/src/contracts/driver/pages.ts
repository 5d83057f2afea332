import { randomBytes } from 'node:crypto'
import type { EntityPageRow } from '@looseleaf/core/internal'
import { expect } from 'expect'
import { hexed, hex, newEntity, withBench, type ContractParts } from './harness.ts'

const epoch = 1

/** Defines the tests of reading entities page by page. */
export function entityPagesContract(parts: ContractParts): void {
  const { describe, test } = parts.runner
  describe('passes', () => {
    const bench = withBench(parts)

    test('an empty table has no pages, and a count of 0', async () => {
      expect(await bench.shard.entities.pageByAdded(0, 10)).toEqual([])
      expect(await bench.shard.entities.pageByUpdated({ since: 0 }, 10)).toEqual([])
      expect(await bench.shard.entities.extent()).toEqual({ rows: 0, lastAddedId: 0 })
      expect(await bench.shard.entities.lastAddedId()).toBe(0)
      expect(await bench.shard.entities.count()).toEqual({
        entities: 0,
        tombstones: 0,
        oldestTombstone: undefined,
      })
    })

    test('pages by addedId return every row once', async () => {
      const entities = Array.from({ length: 25 }, (_, i) => newEntity(i + 1, i % 5 === 0 ? null : undefined))
      for (const entity of entities) await bench.shard.entities.insert([entity], { epoch })
      const met: EntityPageRow[] = []
      // The bound ends the loop for a driver whose pages begin with the place itself.
      for (let after = 0; met.length <= entities.length;) {
        const page = await bench.shard.entities.pageByAdded(after, 4)
        if (page.length === 0) break
        met.push(...page)
        after = page[page.length - 1]?.addedId ?? 0
      }
      expect(met.map(({ version }) => version)).toEqual(entities.map(({ version }) => version))
      expect(met.map(({ id }) => hex(id))).toEqual(entities.map(({ id }) => hex(id)))
      expect(met.map(({ body }) => hex(body))).toEqual(entities.map(({ body }) => hex(body)))
      const lastAddedId = met[met.length - 1]?.addedId
      expect(await bench.shard.entities.count()).toMatchObject({ entities: 20, tombstones: 5 })
      expect(await bench.shard.entities.extent()).toEqual({ rows: 25, lastAddedId })
      expect(await bench.shard.entities.lastAddedId()).toBe(lastAddedId)
    })

    test('a replaced row keeps its addedId', async () => {
      const [first] = await bench.shard.entities.pageByAdded(0, 1)
      const { id, version, body } = first as EntityPageRow
      await bench.shard.entities.replace([{ id, base: version, version: 100, body: body ?? null }], { epoch })
      expect((await bench.shard.entities.pageByAdded(0, 1))[0]).toMatchObject({
        addedId: first?.addedId,
        version: 100,
      })
    })

    test('pages by updated go from new to old, also over rows of one instant', async () => {
      // Rows of one call may have the same time.
      await bench.shard.entities.insert(
        Array.from({ length: 10 }, (_, i) => newEntity(1_000 + i)),
        { epoch },
      )
      const all = await bench.shard.entities.pageByUpdated({ since: 0 }, 1_000)
      expect(all).toHaveLength(35)
      const met: EntityPageRow[] = []
      for (let page = await bench.shard.entities.pageByUpdated({ since: 0 }, 3); page.length > 0;) {
        met.push(...page)
        page = await bench.shard.entities.pageByUpdated(
          { since: 0, before: page[page.length - 1] as EntityPageRow },
          3,
        )
      }
      expect(met.map(({ addedId }) => addedId)).toEqual(all.map(({ addedId }) => addedId))
      expect(new Set(met.map(({ addedId }) => addedId)).size).toBe(35)
      const sorted = all.toSorted((a, b) => b.updated - a.updated || b.addedId - a.addedId)
      expect(all).toEqual(sorted)
      expect(
        (await bench.shard.entities.pageByUpdated({ since: 0 }, 2)).map(({ addedId }) => addedId),
      ).toEqual(all.slice(0, 2).map(({ addedId }) => addedId))
    })

    test('pages may omit long bodies, and have the same rows', async () => {
      const lengths = [3, 300, 30, 3_000]
      await bench.shard.entities.insert(
        lengths.map((length) => newEntity(5_000 + length, randomBytes(length))),
        { epoch },
      )
      const maxBody = 100
      const { entities } = bench.shard
      const pages: [readonly EntityPageRow[], readonly EntityPageRow[]][] = [
        [await entities.pageByAdded(0, 1_000), await entities.pageByAdded(0, 1_000, { maxBody })],
        [await entities.pageByAdded(0, 37), await entities.pageByAdded(0, 37, { maxBody })],
        [
          await entities.pageByUpdated({ since: 0 }, 1_000),
          await entities.pageByUpdated({ since: 0 }, 1_000, { maxBody }),
        ],
      ]
      for (const [whole, bounded] of pages) {
        const expected = whole.map((row) => (row.bodyBytes > maxBody ? { ...row, body: undefined } : row))
        expect(bounded.map(hexed)).toEqual(expected.map(hexed))
        expect(whole.map(({ bodyBytes }) => bodyBytes)).toEqual(whole.map(({ body }) => body?.length ?? 0))
      }
      expect(pages[0]?.[1].filter(({ body }) => body === undefined)).toHaveLength(2)
      const before = pages[2]?.[0][10] as EntityPageRow
      expect((await entities.pageByUpdated({ since: 0, before }, 5, { maxBody })).map(hexed)).toEqual(
        pages[2]?.[1].slice(11, 16).map(hexed),
      )
    })

    test('pages by updated include the instant where they start', async () => {
      const all = await bench.shard.entities.pageByUpdated({ since: 0 }, 1_000)
      const since = (all[5] as EntityPageRow).updated
      const expected = all.filter(({ updated }) => updated >= since).map(({ addedId }) => addedId)
      const met = await bench.shard.entities.pageByUpdated({ since }, 1_000)
      expect(met.map(({ addedId }) => addedId)).toEqual(expected)
      const newest = (all[0] as EntityPageRow).updated
      expect(await bench.shard.entities.pageByUpdated({ since: newest + 1 }, 1_000)).toEqual([])
    })
  })
}
