import { randomBytes } from 'node:crypto'
import type { BatchRow, EntityReplace, EntityTable } from '@looseleaf/core/internal'
import { expect } from 'expect'
import {
  codeOf,
  freshTable,
  hex,
  hexed,
  newEntity,
  newId,
  rowsOf,
  testTogether,
  withBench,
  type ContractParts,
} from './harness.ts'
import { uniqueSpec } from './claims-harness.ts'

const epoch = 1

export function batchContract(parts: ContractParts): void {
  const { test } = parts.runner
  const bench = withBench(parts)

  const insertion = (version = 5): EntityReplace => ({ ...newEntity(version), base: 0 })
  const versions = (rows: readonly BatchRow[]): Promise<readonly (number | undefined)[]> =>
    bench.shard.entities.readVersions(rows.map(({ id }) => id))

  /** Inserts entities at version 1, and returns their replacements. */
  async function replacements(count: number, version = 5): Promise<EntityReplace[]> {
    const stored = Array.from({ length: count }, () => newEntity(1))
    await bench.shard.entities.insert(stored, { epoch })
    return stored.map(({ id }) => ({ id, base: 1, version, body: randomBytes(20) }))
  }

  test('a batch of no rows is written', async () => {
    expect(await bench.shard.entities.writeAll([], { epoch: 99 })).toBe('written')
  })

  test('a batch inserts, replaces and deletes together, at one time', async () => {
    const [replaced, deleted] = (await replacements(2)) as [EntityReplace, EntityReplace]
    const rows = [insertion(), replaced, { ...deleted, body: null }, insertion()]
    const before = await bench.shard.now()
    expect(await bench.shard.entities.writeAll(rows, { epoch })).toBe('written')
    const after = await bench.shard.now()
    const found = await bench.shard.entities.read(rows.map(({ id }) => id))
    expect(found.map((row) => row && hexed({ id: row.id, body: row.body }))).toEqual(
      rows.map(({ id, body }) => hexed({ id, body })),
    )
    expect(found.map((row) => row?.version)).toEqual([5, 5, 5, 5])
    const times = new Set(found.map((row) => row!.updated))
    expect(times.size).toBe(1)
    const [time = 0] = times
    expect(time).toBeGreaterThanOrEqual(before)
    expect(time).toBeLessThanOrEqual(after)
  })

  test('a batch with a row whose version differs writes none, and names each such row', async () => {
    const [right, wrong] = (await replacements(2)) as [EntityReplace, EntityReplace]
    const [stored] = (await replacements(1)) as [EntityReplace]
    const rows = [
      insertion(),
      { ...wrong, base: 9, version: 10 },
      right,
      { ...stored, base: 0 },
      { ...right, id: newId() },
    ]
    expect(await bench.shard.entities.writeAll(rows, { epoch })).toEqual({ lost: [1, 3, 4] })
    expect(await versions(rows)).toEqual([undefined, 1, 1, 1, undefined])
    expect(await bench.shard.entities.writeAll([rows[0]!, right], { epoch })).toBe('written')
  })

  test('a replacement of a missing row is lost, and inserts nothing', async () => {
    const [right] = (await replacements(1)) as [EntityReplace]
    const missing = { ...insertion(), base: 3 }
    expect(await bench.shard.entities.writeAll([missing], { epoch })).toEqual({ lost: [0] })
    expect(await bench.shard.entities.writeAll([right, insertion(), missing], { epoch })).toEqual({
      lost: [2],
    })
    expect(await versions([missing, right])).toEqual([undefined, 1])
  })

  test('the id of a tombstone is lost for an insertion of a batch', async () => {
    const tombstone = newEntity(1, null)
    await bench.shard.entities.insert([tombstone], { epoch })
    const rows = [{ ...tombstone, base: 0, version: 2 }, insertion()]
    expect(await bench.shard.entities.writeAll(rows, { epoch })).toEqual({ lost: [0] })
    expect(await versions(rows)).toEqual([1, undefined])
  })

  test('a held row keeps its version and body, and ends the batch if its version differs', async () => {
    const [held, replaced] = (await replacements(2)) as [EntityReplace, EntityReplace]
    const [before] = await bench.shard.entities.read([held.id])
    const rows = (base: number): BatchRow[] => [{ id: held.id, base }, replaced]
    expect(await bench.shard.entities.writeAll(rows(2), { epoch })).toEqual({ lost: [0] })
    expect(await versions(rows(1))).toEqual([1, 1])
    expect(await bench.shard.entities.writeAll(rows(1), { epoch })).toBe('written')
    expect(hexed((await bench.shard.entities.read([held.id]))[0])).toEqual(hexed(before))
    expect(await bench.shard.entities.writeAll([{ id: newId(), base: 1 }], { epoch })).toEqual({ lost: [0] })
  })

  test('a batch with another epoch is STALE_EPOCH, and writes none', async () => {
    const rows = [insertion(), ...(await replacements(1))]
    for (const wrong of [epoch - 1, epoch + 1])
      expect(await codeOf(bench.shard.entities.writeAll(rows, { epoch: wrong }))).toBe('STALE_EPOCH')
    expect(await versions(rows)).toEqual([undefined, 1])
  })

  test('hundreds of rows are a batch', async () => {
    const rows = [...(await replacements(150)), ...Array.from({ length: 150 }, () => insertion())]
    expect(await bench.shard.entities.writeAll(rows, { epoch })).toBe('written')
    expect(new Set(await versions(rows))).toEqual(new Set([5]))
  })

  test('bodies that exceed a packet together are a batch', async () => {
    const body = randomBytes(2 ** 20)
    const rows = [...(await replacements(10)), ...Array.from({ length: 10 }, () => insertion())].map(
      (row) => ({ ...row, body }),
    )
    const lost = [...rows, { ...insertion(), base: 3 }]
    expect(await bench.shard.entities.writeAll(lost, { epoch })).toEqual({ lost: [20] })
    expect(await bench.shard.entities.writeAll(rows, { epoch })).toBe('written')
    const found = await bench.shard.entities.read(rows.map(({ id }) => id))
    for (const row of found) {
      expect(row?.version).toBe(5)
      expect(Buffer.compare(row!.body!, body)).toBe(0)
    }
  })

  test('a pending row per deferred table is committed with a batch, and with none that is lost', async () => {
    const [first, second] = [insertion(7), insertion(7)]
    const rows = [{ ...first, deferred: ['index_batch'] }, second]
    expect(await bench.shard.entities.writeAll([...rows, { id: newId(), base: 1 }], { epoch })).toEqual({
      lost: [2],
    })
    expect(await bench.shard.pending.page({ limit: 10 })).toEqual([])
    expect(await bench.shard.entities.writeAll(rows, { epoch })).toBe('written')
    const pending = await bench.shard.pending.page({ limit: 10 })
    expect(pending.map(({ entityId, table, version }) => [hex(entityId), table, version])).toEqual([
      [hex(first.id), 'index_batch', 7],
    ])
  })

  test('a batch hands claims over between its entities, and never lowers a stamp', async () => {
    const spec = uniqueSpec('integer')
    const table = await freshTable(bench.shard, spec)
    const [a, b] = (await replacements(2, 20)) as [EntityReplace, EntityReplace]
    await bench.shard.claims(spec).take([
      { key: [1n], entityId: a.id, version: 1 },
      { key: [2n], entityId: b.id, version: 30 },
    ])
    const handed = (key: bigint, from: EntityReplace, { id: entityId, version }: EntityReplace) => ({
      spec,
      key: [key],
      from: from.id,
      to: { entityId, version },
    })
    const claims = [handed(1n, a, b), handed(2n, b, a)]
    // The second claim is not with this entity, so the first is not handed over either.
    const wrong = [handed(1n, a, b), handed(2n, a, b)]
    expect(await bench.shard.entities.writeAll([a, b], { epoch, claims: wrong })).toEqual({ lost: [1] })
    expect(await versions([a, b])).toEqual([1, 1])
    expect(await bench.shard.entities.writeAll([a, b], { epoch, claims })).toBe('written')
    const rows = await rowsOf(bench.shard, table, [a.id, b.id])
    expect(rows.map(({ key, entityId, version }) => [key[0], hex(entityId), version]).toSorted()).toEqual([
      [1n, hex(b.id), 20],
      [2n, hex(a.id), 30],
    ])
  })

  testTogether(parts, 'batches that overlap in any order take place as a whole', async () => {
    const stored = await replacements(6)
    const ids = stored.map(({ id }) => id)
    let version = 10
    let won = 0
    const writeOnce = async (entities: EntityTable, rows: readonly EntityReplace[]): Promise<void> => {
      if ((await entities.writeAll(rows, { epoch })) === 'written') won++
    }
    const writer = async (number: number): Promise<void> => {
      const { entities } = number % 2 === 0 ? bench.shard : bench.other
      for (let round = 0; round < 8; round++) {
        const bases = (await entities.readVersions(ids)) as number[]
        const next = (version += 1)
        const rows = ids.map((id, i) => ({ id, base: bases[i]!, version: next, body: Buffer.from([number]) }))
        // A rotation per writer, which must not matter.
        const turned = [...rows.slice(number), ...rows.slice(0, number)]
        const outcome = await codeOf(writeOnce(entities, turned))
        expect(['no error', 'SHARD_BUSY']).toContain(outcome)
        const after = await entities.readVersions(ids)
        expect(new Set(after).size).toBe(1)
      }
    }
    await Promise.all([0, 1, 2, 3].map(writer))
    expect(won).toBeGreaterThan(0)
  })

  testTogether(parts, 'one of several concurrent batches inserts an id', async () => {
    const shared = newId()
    const batches = [0, 1, 2, 3].map((number) => [
      insertion(10 + number),
      { ...insertion(10 + number), id: shared },
      insertion(10 + number),
    ])
    const outcomes = await Promise.all(
      batches.map((rows, i) => (i % 2 === 0 ? bench.shard : bench.other).entities.writeAll(rows, { epoch })),
    )
    const winner = outcomes.indexOf('written')
    expect(outcomes.filter((outcome) => outcome === 'written')).toHaveLength(1)
    for (const [i, rows] of batches.entries()) {
      const expected = i === winner ? 10 + i : undefined
      const [first, , third] = await versions(rows)
      expect([first, third]).toEqual([expected, expected])
      if (i !== winner) expect(outcomes[i]).toEqual({ lost: [1] })
    }
  })

  // Last, because no test before it may insert below the bound.
  test('an insertion of a batch below the bound of purged tombstones is STALE_EPOCH', async () => {
    const [replaced] = (await replacements(1, 50)) as [EntityReplace]
    await bench.shard.entities.raisePurged({ updated: 1, version: 5 }, { epoch })
    const rows = [insertion(4), replaced]
    expect(await codeOf(bench.shard.entities.writeAll(rows, { epoch }))).toBe('STALE_EPOCH')
    expect(await versions(rows)).toEqual([undefined, 1])
    expect(await bench.shard.entities.writeAll([insertion(5), replaced], { epoch })).toBe('written')
  })
}
