import { randomBytes } from 'node:crypto'
import type { Shard } from '@looseleaf/core'
import { expect } from 'expect'
import {
  catalogOf,
  codeOf,
  firstShard,
  freshIndex,
  hexed,
  newEntity,
  newId,
  newName,
  withBench,
  type DriverHarness,
  type ContractParts,
} from './harness.ts'
import { freshSpec } from './local-rows.ts'

export function shardContract(parts: ContractParts): void {
  const { describe, test } = parts.runner
  describe('an open driver', () => {
    const bench = withBench(parts)

    test('a shard has a name', () => {
      expect(bench.shard.name).not.toBe('')
    })

    test('tables that are created again keep their rows', async () => {
      const entity = newEntity()
      await bench.shard.entities.insert([entity], { epoch: 1 })
      await bench.shard.createTables()
      expect(await bench.shard.entities.readVersions([entity.id])).toEqual([1])
    })

    test('an index table that is created again keeps its rows', async () => {
      const spec = await freshSpec(bench)
      await bench.shard.index(spec).upsert([{ key: [1n], entityId: newId(), version: 1 }])
      await bench.shard.createIndexTable(spec)
      expect(await bench.shard.index(spec).count({ prefix: [] })).toBe(1)
    })

    test('an existing index table with other columns is BAD_INDEX', async () => {
      const spec = await freshSpec(bench)
      for (const columns of [
        [{ name: 'n', type: 'number' }],
        [{ name: 'm', type: 'integer' }],
        [...spec.columns, { name: 'm', type: 'integer' }],
      ] as const) {
        expect(await codeOf(bench.shard.createIndexTable({ ...spec, columns }))).toBe('BAD_INDEX')
      }
      await bench.shard.index(spec).upsert([{ key: [1n], entityId: newId(), version: 1 }])
      expect(await bench.shard.index(spec).count({ prefix: [] })).toBe(1)
    })

    test('an index table is BAD_INDEX for a unique index, and the reverse', async () => {
      const spec = { table: newName('ix'), columns: [{ name: 'n', type: 'integer' }] } as const
      const unique = { ...spec, table: newName('ix'), unique: true } as const
      await bench.shard.createIndexTable(spec)
      await bench.shard.createIndexTable(unique)
      expect(await codeOf(bench.shard.createIndexTable({ ...spec, unique: true }))).toBe('BAD_INDEX')
      expect(await codeOf(bench.shard.createIndexTable({ ...unique, unique: undefined }))).toBe('BAD_INDEX')
    })

    test('a property may have any name', async () => {
      const names = [
        'select',
        'Group',
        'group',
        'entity_id',
        'version',
        'ü?',
        '',
        'a\'b`c"d',
        'x'.repeat(300),
        'property_0',
      ]
      const spec = {
        table: newName('ix'),
        columns: names.map((name) => ({ name, type: 'boolean' as const })),
      }
      await bench.shard.createIndexTable(spec)
      const key = names.map((_, i) => BigInt(i % 2))
      await bench.shard.index(spec).upsert([{ key, entityId: newId(), version: 1 }])
      const rows = await bench.shard.index(spec).scan({ prefix: [], order: 'asc', limit: 2 })
      expect(rows.map((row) => row.key)).toEqual([key])
    })

    test('an index table is the same object for the same name', () => {
      const spec = { table: newName('ix'), columns: [{ name: 'n', type: 'integer' }] } as const
      expect(bench.shard.index(spec)).toBe(bench.shard.index({ ...spec }))
    })

    test('a dropped index table is gone, and a second drop does nothing', async () => {
      const spec = await freshSpec(bench)
      await bench.shard.dropIndexTable(spec)
      await bench.shard.dropIndexTable(spec)
      expect(await codeOf(bench.shard.index(spec).count({ prefix: [] }))).toBe('INDEX_NOT_FOUND')
    })

    test('a missing index table is INDEX_NOT_FOUND for every call', async () => {
      const spec = { table: newName('ix'), columns: [{ name: 'n', type: 'integer' }] } as const
      const index = bench.shard.index(spec)
      const row = { key: [1n], entityId: newId(), version: 1 }
      expect(await codeOf(index.upsert([row]))).toBe('INDEX_NOT_FOUND')
      expect(await codeOf(index.remove([{ ...row, before: 2 }]))).toBe('INDEX_NOT_FOUND')
      expect(await codeOf(index.scan({ prefix: [], order: 'asc', limit: 1 }))).toBe('INDEX_NOT_FOUND')
      expect(await codeOf(bench.shard.rowsOf([spec], [newId()]))).toBe('INDEX_NOT_FOUND')
      expect(await codeOf(index.count({ prefix: [] }))).toBe('INDEX_NOT_FOUND')
    })

    test('the schema has a statement for every table', () => {
      const spec = { table: 'ix_for_people', columns: [{ name: 'user_id', type: 'uuid' }] } as const
      const statements = bench.shard.schema([spec])
      expect(statements.every((statement) => statement.startsWith('CREATE '))).toBe(true)
      expect(statements.join('\n')).toMatch(
        /looseleaf_meta[\s\S]*looseleaf_tasks[\s\S]*ix_for_people[\s\S]*user_id/,
      )
    })

    test('the clock of a shard counts microseconds, and does not run back', async () => {
      const first = await bench.shard.now()
      const second = await bench.shard.now()
      expect(Number.isSafeInteger(first)).toBe(true)
      expect(second).toBeGreaterThanOrEqual(first)
      // The years 2020 and 2100 in microseconds rule out other units.
      expect(first).toBeGreaterThan(1_577_836_800e6)
      expect(first).toBeLessThan(4_102_444_800e6)
    })

    test('sizes, if there are any, are numbers of rows and bytes', async () => {
      await bench.shard.entities.insert([newEntity(), newEntity()], { epoch: 1 })
      const sizes = await bench.shard.sizes?.()
      if (sizes === undefined) return
      expect(sizes.bytes).toBeGreaterThan(0)
      expect(sizes.entities).toBeGreaterThanOrEqual(0)
      for (const { rows, bytes } of sizes.tables.values()) {
        expect(rows).toBeGreaterThanOrEqual(0)
        expect(bytes).toBeGreaterThan(0)
      }
    })

    test('warnings are sentences', async () => {
      for (const warning of await bench.shard.warnings()) expect(warning).toMatch(/\w.*\.$/)
    })

    test('every call ends with ABORTED when its signal has fired', async () => {
      const index = await freshIndex(bench.shard, 'integer')
      const entity = newEntity()
      for (const call of everyCall(bench.shard, index, entity.id, AbortSignal.abort())) {
        expect(await codeOf(call())).toBe('ABORTED')
      }
      expect(await bench.shard.entities.read([entity.id])).toEqual([undefined])
    })

    test('concurrent calls whose signals fire end with ABORTED, and the others are answered', async () => {
      const controller = new AbortController()
      const calls = Array.from({ length: 200 }, (_, i) =>
        codeOf(bench.shard.now(i % 2 === 0 ? { signal: controller.signal } : {})),
      )
      controller.abort()
      const codes = await Promise.all(calls)
      expect(codes).toEqual(codes.map((_, i) => (i % 2 === 0 ? 'ABORTED' : 'no error')))
      expect(await bench.shard.now()).toBeGreaterThan(0)
    })
  })

  describe('flush', () => {
    const bench = withBench(parts)

    test('a flush resolves, alone and concurrently, and changes nothing that can be read', async () => {
      const entity = newEntity()
      await bench.shard.entities.insert([entity], { epoch: 1 })
      const read = async (): Promise<object> => ({
        rows: (await bench.shard.entities.read([entity.id])).map(hexed),
        catalog: await bench.shard.catalog.load(),
        count: await bench.shard.entities.count(),
      })
      const before = await read()
      expect(await bench.shard.flush()).toBeUndefined()
      const flushes = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? bench.shard : bench.other).flush())
      expect(await Promise.all(flushes)).toEqual(flushes.map(() => undefined))
      expect(await read()).toEqual(before)
    })

    test('a waiting flush ends with ABORTED when its signal fires, without delaying others', async () => {
      const controller = new AbortController()
      const calls = Array.from({ length: 50 }, (_, i) =>
        codeOf(bench.shard.flush(i % 2 === 0 ? { signal: controller.signal } : {})),
      )
      controller.abort()
      const codes = await Promise.all(calls)
      // A driver that needs no flush may answer before the signal fires.
      expect(codes.filter((_, i) => i % 2 === 1)).toEqual(Array.from({ length: 25 }, () => 'no error'))
      expect(['ABORTED', 'no error']).toEqual(expect.arrayContaining([...new Set(codes)]))
      expect(await codeOf(bench.shard.flush({ signal: controller.signal }))).toBe('ABORTED')
      expect(await codeOf(bench.shard.flush())).toBe('no error')
      expect(await bench.shard.now()).toBeGreaterThan(0)
    })
  })

  describe('without tables', () => {
    async function withFreshShard(
      run: (shard: Shard, harness: DriverHarness) => Promise<void>,
    ): Promise<void> {
      const harness = await parts.make()
      try {
        await run(firstShard(harness.driver), harness)
      } finally {
        await harness.driver.close()
        await harness.cleanUp()
      }
    }

    test('a shard without tables has no catalog, and every other call is NOT_MIGRATED', () =>
      withFreshShard(async ({ entities, catalog, tasks, now }) => {
        expect(await catalog.load()).toBeUndefined()
        expect(await codeOf(catalog.init(catalogOf(1)))).toBe('NOT_MIGRATED')
        expect(await codeOf(catalog.change(catalogOf(2), 1))).toBe('NOT_MIGRATED')
        expect(await codeOf(entities.read([newId()]))).toBe('NOT_MIGRATED')
        expect(await codeOf(entities.insert([newEntity()], { epoch: 1 }))).toBe('NOT_MIGRATED')
        expect(await codeOf(tasks.load('a'))).toBe('NOT_MIGRATED')
        expect(await codeOf(tasks.claim('a', 'b', 1))).toBe('NOT_MIGRATED')
        expect(await now()).toBeGreaterThan(0)
      }))

    test('writes without a catalog row are STALE_EPOCH', () =>
      withFreshShard(async (shard) => {
        await shard.createTables()
        expect(await shard.catalog.load()).toBeUndefined()
        expect(await codeOf(shard.entities.insert([newEntity()], { epoch: 1 }))).toBe('STALE_EPOCH')
        expect(await codeOf(shard.entities.replace([{ ...newEntity(2), base: 1 }], { epoch: 1 }))).toBe(
          'STALE_EPOCH',
        )
      }))

    test('calls after close are CLOSED, and calls in flight end normally', () =>
      withFreshShard(async (shard, { driver }) => {
        await shard.createTables()
        await shard.catalog.init(catalogOf(1))
        const entities = Array.from({ length: 20 }, () => newEntity())
        const inFlight = entities.map((entity) => shard.entities.insert([entity], { epoch: 1 }))
        const closing = driver.close()
        await expect(Promise.all(inFlight)).resolves.toHaveLength(20)
        await closing
        await driver.close()
        expect(await codeOf(shard.now())).toBe('CLOSED')
        expect(await codeOf(shard.entities.read([newId()]))).toBe('CLOSED')
        expect(await codeOf(shard.catalog.load())).toBe('CLOSED')
      }))
  })
}

function everyCall(
  shard: Shard,
  index: ReturnType<Shard['index']>,
  id: Uint8Array,
  signal: AbortSignal,
): (() => Promise<unknown>)[] {
  const spec = { table: newName('ix'), columns: [{ name: 'n', type: 'integer' }] } as const
  const unique = { ...spec, table: newName('ix'), unique: true } as const
  const row = { key: [1n], entityId: id, version: 1 }
  const write = { epoch: 1, signal }
  return [
    () => shard.entities.read([id], { signal }),
    () => shard.entities.readVersions([id], { signal }),
    () => shard.entities.insert([{ id, version: 1, body: randomBytes(1) }], write),
    () => shard.entities.replace([{ id, base: 1, version: 2, body: null }], write),
    () => shard.entities.pageByAdded(0, 1, { signal }),
    () => shard.entities.pageByUpdated({ since: 0 }, 1, { signal }),
    () => shard.entities.count({ signal }),
    () => shard.entities.extent({ signal }),
    () => shard.entities.lastAddedId({ signal }),
    () => shard.catalog.load({ signal }),
    () => shard.catalog.init(catalogOf(1), { signal }),
    () => shard.catalog.change(catalogOf(2), 1, { signal }),
    () => shard.entities.readBounded([id], 1, { signal }),
    () => shard.tasks.loadAll(['a'], { signal }),
    () => shard.tasks.claimAll(['a'], 'b', 1, { signal }),
    () => shard.tasks.saveAll(new Map([['a', '']]), 'b', 1, { signal }),
    () => shard.tasks.load('a', { signal }),
    () => shard.tasks.claim('a', 'b', 1, { signal }),
    () => shard.tasks.save('a', 'b', '', 1, { signal }),
    () => index.upsert([row], { signal }),
    () => index.remove([{ ...row, before: 2 }], { signal }),
    () => index.scan({ prefix: [], order: 'asc', limit: 1 }, { signal }),
    () => shard.rowsOf([spec], [id], { signal }),
    () => index.count({ prefix: [] }, { signal }),
    () => shard.claims(unique).take([row], { signal }),
    () => shard.claims(unique).take([row, { ...row, key: [2n] }], { signal }),
    () => shard.claims(unique).swap(row, { entityId: id, version: 2 }, { signal }),
    () => shard.createTables({ signal }),
    () => shard.createIndexTable(spec, { signal }),
    () => shard.dropIndexTable(spec, { signal }),
    () => shard.now({ signal }),
    () => shard.flush({ signal }),
  ]
}
