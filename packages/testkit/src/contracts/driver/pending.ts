import type { EntityReplace, PendingRow } from '@looseleaf/core/internal'
import { expect } from 'expect'
import { codeOf, hex, newEntity, withBench, type ContractParts } from './harness.ts'

const epoch = 1

export function pendingContract(parts: ContractParts): void {
  const { test } = parts.runner
  const bench = withBench(parts)

  const rowsOf = async (id: Uint8Array): Promise<(readonly [string, number])[]> =>
    (await bench.shard.pending.page({ limit: 1_000 }))
      .filter((row) => hex(row.entityId) === hex(id))
      .map((row: PendingRow) => [row.table, row.version] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))

  test('a new shard has no pending rows', async () => {
    expect(await bench.shard.pending.tables()).toEqual([])
    expect(await bench.shard.pending.page({ limit: 10 })).toEqual([])
    expect(await bench.shard.pending.remove([])).toBe(0)
  })

  test('a pending row per table is committed with its entity', async () => {
    const [plain, entity] = [newEntity(1), newEntity(7)]
    await bench.shard.entities.insert([plain, { ...entity, deferred: ['index_a', 'index_b'] }], { epoch })
    expect(await rowsOf(entity.id)).toEqual([
      ['index_a', 7],
      ['index_b', 7],
    ])
    expect(await rowsOf(plain.id)).toEqual([])
    expect((await bench.shard.pending.tables()).toSorted()).toEqual(['index_a', 'index_b'])
  })

  test('a removal of pending rows with another epoch is STALE_EPOCH, and deletes nothing', async () => {
    const entity = newEntity(7)
    await bench.shard.entities.insert([{ ...entity, deferred: ['index_a'] }], { epoch })
    const removals = [{ entityId: entity.id, table: 'index_a', before: 8 }]
    expect(await codeOf(bench.shard.pending.remove(removals, { epoch: epoch + 1 }))).toBe('STALE_EPOCH')
    expect(await rowsOf(entity.id)).toEqual([['index_a', 7]])
    expect(await bench.shard.pending.remove(removals, { epoch })).toBe(1)
    expect(await bench.shard.pending.remove(removals, { epoch })).toBe(0)
  })

  test('pages return all pending rows in order, without excluded tables', async () => {
    const tables = ['index_a', 'index_b', 'index_c']
    const entities = Array.from({ length: 7 }, () => ({ ...newEntity(1), deferred: tables }))
    await bench.shard.entities.insert(entities, { epoch })
    const textOf = (row: Pick<PendingRow, 'entityId' | 'table'>): string =>
      `${hex(row.entityId)} ${row.table}`
    const own = new Set(entities.map(({ id }) => hex(id)))
    const walk = async (limit: number, except?: readonly string[]): Promise<string[]> => {
      const seen: string[] = []
      let after: PendingRow | undefined
      for (;;) {
        const rows = await bench.shard.pending.page({ after, except, limit })
        expect(rows.length).toBeLessThanOrEqual(limit)
        seen.push(...rows.filter((row) => own.has(hex(row.entityId))).map(textOf))
        if (rows.length < limit) return seen
        after = rows.at(-1)
      }
    }
    const all = [...own].toSorted().flatMap((id) => tables.map((table) => `${id} ${table}`))
    for (const limit of [1, 2, 5, 1_000]) expect(await walk(limit)).toEqual(all)
    expect(await walk(2, ['index_b'])).toEqual(all.filter((text) => !text.endsWith('index_b')))
    expect(await walk(4, ['index_a', 'index_c'])).toEqual(all.filter((text) => text.endsWith('index_b')))
    expect(await walk(4, tables)).toEqual([])
  })

  test('a replacement raises the version of its entity’s pending row', async () => {
    const entity = { ...newEntity(5), deferred: ['index_a'] }
    await bench.shard.entities.insert([entity], { epoch })
    const next = { ...entity, base: 5, version: 9 }
    expect(await bench.shard.entities.replace([next], { epoch })).toEqual([true])
    expect(await rowsOf(entity.id)).toEqual([['index_a', 9]])
  })

  test('a batch of replacements with pending rows returns the outcome of each row', async () => {
    const entities = Array.from({ length: 20 }, (_, i) => newEntity(i + 1))
    await bench.shard.entities.insert(entities, { epoch })
    const replaces = entities.map((entity, i): EntityReplace => ({
      ...entity,
      base: i % 3 === 0 ? 999 : i + 1,
      version: 100 + i,
      deferred: ['index_a'],
    }))
    const won = await bench.shard.entities.replace(replaces, { epoch })
    expect(won).toEqual(entities.map((_, i) => i % 3 !== 0))
    for (const [i, entity] of entities.entries()) {
      if (won[i]) expect(await rowsOf(entity.id)).toEqual([['index_a', 100 + i]])
    }
  })

  test('a rejected write leaves no pending row', async () => {
    const entity = newEntity(1)
    await bench.shard.entities.insert([entity], { epoch })
    const again = bench.shard.entities.insert([{ ...entity, deferred: ['index_a'] }], { epoch })
    expect(await codeOf(again)).toBe('ALREADY_EXISTS')
    const stale = { ...newEntity(1), deferred: ['index_a'] }
    expect(await codeOf(bench.shard.entities.insert([stale], { epoch: 7 }))).toBe('STALE_EPOCH')
    expect(await rowsOf(entity.id)).toEqual([])
    expect(await rowsOf(stale.id)).toEqual([])
    expect(await bench.shard.entities.readVersions([stale.id])).toEqual([undefined])
  })

  test('added pending rows keep the greater version, and several are added in one call', async () => {
    const [stored, fresh] = [newEntity(5), newEntity(6)]
    await bench.shard.entities.insert([{ ...stored, deferred: ['index_a'] }], { epoch })
    const row = { entityId: stored.id, table: 'index_a' }
    for (const [version, expected] of [
      [4, 5],
      [9, 9],
      [7, 9],
    ] as const) {
      await bench.shard.pending.add([{ ...row, version }], { epoch })
      expect(await rowsOf(stored.id)).toEqual([['index_a', expected]])
    }
    const rows = ['index_c', 'index_b'].map((table) => ({ entityId: fresh.id, table, version: 6 }))
    await bench.shard.pending.add([...rows, { ...row, version: 12 }], { epoch })
    expect(await rowsOf(stored.id)).toEqual([['index_a', 12]])
    expect(await rowsOf(fresh.id)).toEqual([
      ['index_b', 6],
      ['index_c', 6],
    ])
    await bench.shard.pending.add([], { epoch: 99 })
  })

  test('an add of pending rows with another epoch is STALE_EPOCH, and changes nothing', async () => {
    const [stored, fresh] = [newEntity(5), newEntity(6)]
    await bench.shard.entities.insert([{ ...stored, deferred: ['index_a'] }], { epoch })
    const rows = [fresh, stored].map(({ id }) => ({ entityId: id, table: 'index_a', version: 9 }))
    for (const some of [rows, rows.slice(1)])
      expect(await codeOf(bench.shard.pending.add(some, { epoch: 2 }))).toBe('STALE_EPOCH')
    expect(await rowsOf(stored.id)).toEqual([['index_a', 5]])
    expect(await rowsOf(fresh.id)).toEqual([])
  })

  test('a pending row is removed only if its version is lower', async () => {
    const entity = { ...newEntity(5), deferred: ['index_a', 'index_b'] }
    await bench.shard.entities.insert([entity], { epoch })
    const removal = { entityId: entity.id, table: 'index_a' }
    expect(await bench.shard.pending.remove([{ ...removal, before: 5 }])).toBe(0)
    expect(await bench.shard.pending.remove([{ ...removal, before: 6 }])).toBe(1)
    expect(await bench.shard.pending.remove([{ ...removal, before: 6 }])).toBe(0)
    expect(await rowsOf(entity.id)).toEqual([['index_b', 5]])
  })
}
