import type { EntityPageRow, EntityTable, UpdatedPlace } from '@looseleaf/core/internal'
import { expect } from 'expect'
import { FIRST, hex, newEntity, withBench, type ContractParts } from './harness.ts'

const WRITERS = 6
const WRITES = 40

export function floorContract(parts: ContractParts): void {
  const { test } = parts.runner
  const bench = withBench(parts)
  const epoch = 1

  test('each raise increases the floor to the current time', async () => {
    const { entities } = bench.shard
    expect((await entities.floor()).floor).toBe(0)
    const first = await entities.raiseFloor()
    const { floor, now, epoch: catalogEpoch } = await entities.floor()
    expect(floor).toBe(first)
    expect(catalogEpoch).toBe(epoch)
    // Both are of one clock, which may count milliseconds.
    expect(now + 1_000).toBeGreaterThanOrEqual(floor)
    expect(now - floor).toBeLessThan(60_000_000)
    expect(await entities.raiseFloor()).toBeGreaterThan(first)
  })

  test('changes come in the order of their last write, page by page, up to a time', async () => {
    const { entities } = bench.shard
    const rows = Array.from({ length: 9 }, () => newEntity(1))
    await entities.insert(rows, { epoch })
    const [moved] = rows
    await entities.replace([{ ...moved!, base: 1, version: 2, body: null }], { epoch })
    const until = await entities.raiseFloor()
    const all = await changes(entities, FIRST, until, 1_000)
    expect(all).toHaveLength(9)
    const paged = await changes(entities, FIRST, until, 2)
    expect(paged).toEqual(all)
    const sorted = all.toSorted((a, b) => a.updated - b.updated || a.addedId - b.addedId)
    expect(all).toEqual(sorted)
    expect(all.find(({ id }) => hex(id) === hex(moved!.id))).toMatchObject({ version: 2, body: null })
    const last = all.at(-1)!
    expect(await changes(entities, last, until, 10)).toEqual([])
    expect(await changes(entities, FIRST, last.updated, 10)).not.toContainEqual(last)
    expect(await changes(entities, { updated: last.updated, addedId: last.addedId - 1 }, until, 10)).toEqual([
      last,
    ])
  })

  test('a page of some partitions has exactly the changes of these', async () => {
    const { entities } = bench.shard
    await entities.insert(
      Array.from({ length: 20 }, () => newEntity(1)),
      { epoch },
    )
    const until = await entities.raiseFloor()
    const all = await changes(entities, FIRST, until, 100)
    for (const some of [[0], [2, 1], []]) {
      const of = { count: 3, some }
      const expected = all.filter(({ addedId }) => some.includes(addedId % 3))
      expect(await entities.pageOfChanges({ after: FIRST, until, of }, 100)).toEqual(expected)
      expect(await entities.pageOfChanges({ after: FIRST, until, of }, 2)).toEqual(expected.slice(0, 2))
    }
    const last = { count: 32, some: [31] }
    expect(await entities.pageOfChanges({ after: FIRST, until, of: last }, 100)).toEqual(
      all.filter(({ addedId }) => addedId % 32 === 31),
    )
  })

  test('a reader of changes up to each floor misses no write of any process', async () => {
    const { entities } = bench.shard
    let writing = true
    const seen = new Map<string | undefined, number>()
    const follow = async (): Promise<void> => {
      for (let after = FIRST, isLast = false; !isLast;) {
        isLast = !writing
        const until = await entities.raiseFloor()
        for (const { id, version } of await changes(entities, after, until, 50)) seen.set(hex(id), version)
        after = { updated: until, addedId: 0 }
      }
    }
    const following = follow()
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
    writing = false
    await following
    const stored = await changes(entities, FIRST, await entities.raiseFloor(), 1_000)
    expect(stored.filter(({ id, version }) => seen.get(hex(id)) !== version)).toEqual([])
    expect(stored.length).toBeGreaterThan(WRITERS * 4)
  })

  /** Inserts and replaces rows, one and several at a time. */
  async function write(writer: number): Promise<void> {
    const { entities } = writer % 2 === 0 ? bench.shard : bench.other
    let rows = Array.from({ length: 4 }, () => newEntity(1))
    await entities.insert(rows, { epoch })
    for (let version = 2; version < WRITES; version++) {
      const some = rows.slice(0, 1 + (version % 4))
      const next = rows.map((row) => ({ ...row, version: some.includes(row) ? version : row.version }))
      const swaps = some.map((row) => ({ ...row, base: row.version, version }))
      expect(await entities.replace(swaps, { epoch })).toEqual(swaps.map(() => true))
      rows = next
    }
  }
}

async function changes(
  entities: EntityTable,
  after: UpdatedPlace,
  until: number,
  limit: number,
): Promise<readonly EntityPageRow[]> {
  const met: EntityPageRow[] = []
  for (let place = after; ;) {
    const page = await entities.pageOfChanges({ after: place, until }, limit)
    met.push(...page)
    const last = page.at(-1)
    if (last === undefined || page.length < limit) return met
    place = last
  }
}
