import type {
  EntityScan,
  IndexRow,
  IndexScan,
  IndexTable,
  IndexTableSpec,
  Key,
} from '@looseleaf/core/internal'
import { expect } from 'expect'
import { seededRandom } from '../seeded-random.ts'
import { comparable } from './index-rows.ts'
import {
  codeOf,
  freshTable,
  hex,
  hexed,
  newId,
  newName,
  testTogether,
  withBench,
  type ContractParts,
} from './harness.ts'

const epoch = 1
const MAX_BODY = 100
const all = { prefix: [], order: 'asc', limit: 1_000 } as const

/** Defines the tests of scans whose rows come with their entities, or with the versions of these. */
export function joinedScanContract(parts: ContractParts): void {
  const { beforeAll, describe, test } = parts.runner
  const bench = withBench(parts)

  // Columns of both tables have the same names where a table allows that.
  const specs: Readonly<Record<string, IndexTableSpec>> = {
    'two directions': {
      table: newName('ix'),
      columns: [
        { name: 'id', type: 'string' },
        { name: 'updated', type: 'integer', order: 'desc' },
        { name: 'body', type: 'number' },
      ],
    },
    'included bytes': {
      table: newName('ix'),
      columns: [
        { name: 'version', type: 'integer' },
        { name: 'added_id', type: 'number' },
      ],
      covering: true,
    },
  }

  for (const [name, spec] of Object.entries(specs)) {
    describe(name, () => {
      const { integer, pick } = seededRandom(20261126)
      const values: Readonly<Record<string, Key>> = {
        string: ['a', 'b'].map((text) => Buffer.from(text)),
        integer: [1n, 2n],
        number: [0.1, 7],
      }
      let table: IndexTable
      let rows: readonly IndexRow[]

      beforeAll(async () => {
        table = await freshTable(bench.shard, spec)
        const ids = Array.from({ length: 60 }, newId)
        // A tombstone, a short body, the longest that comes, longer ones, and rows without an entity.
        const bodies = [null, Buffer.alloc(1, 1), Buffer.alloc(MAX_BODY, 2), Buffer.alloc(MAX_BODY + 1, 3)]
        const entities = ids.slice(0, 50).map((id, i) => ({ id, version: i + 1, body: bodies[i % 4]! }))
        await bench.shard.entities.insert(entities, { epoch })
        rows = Array.from({ length: 200 }, (_, version) => ({
          key: spec.columns.map(({ type }) => pick(values[type]!)) as Key,
          entityId: pick(ids),
          version,
          ...(spec.covering && { included: Buffer.from(`included ${version}`) }),
        }))
        await table.upsert(rows)
      })

      function randomScan(): EntityScan {
        const depth = integer(spec.columns.length)
        const start = pick(rows)
        const prefix = start.key.slice(0, depth)
        return {
          prefix,
          ...(integer(3) === 0 && { lower: { value: start.key[depth]!, inclusive: true } }),
          ...(pick([true, false]) && { after: { ...start, inclusive: pick([true, false]) } }),
          order: pick(['asc', 'desc'] as const),
          limit: pick([1, 4, 30]),
          maxBody: pick([MAX_BODY, 0, 1_000]),
          included: spec.covering,
        }
      }

      // A table is enough for a call of several statements.
      for (const length of spec.covering ? [0, 1, 2, 41] : [0, 1, 2, 41, 150]) {
        test(`${length} scans return their rows, each with its entity or the version of that`, async () => {
          const mixed = Array.from({ length }, randomScan)
          // Scans that differ in their values only.
          const alike = mixed.map(({ maxBody, limit }): EntityScan => ({
            ...all,
            included: spec.covering,
            maxBody,
            limit,
          }))
          for (const scans of [mixed, alike]) {
            const joined = await table.scanEntities(scans)
            const versioned = await table.scanVersions(scans.map(({ maxBody: _, ...scan }) => scan))
            const plain = await table.scanMany(scans.map(({ maxBody: _, ...scan }) => scan))
            expect(joined.map((page) => page.map(({ entity: _, ...row }) => plainRow(row)))).toEqual(
              plain.map((page) => page.map(plainRow)),
            )
            for (const [i, { maxBody }] of scans.entries()) {
              const ids = plain[i]!.map(({ entityId }) => entityId)
              const read = await bench.shard.entities.readBounded(ids, maxBody)
              expect(joined[i]!.map(({ entity }) => hexed(entity))).toEqual(read.map(hexed))
              expect(
                versioned[i]!.map(({ entityVersion, ...row }) => [plainRow(row), entityVersion]),
              ).toEqual(plain[i]!.map((row, n) => [plainRow(row), read[n]?.version]))
            }
          }
        })
      }
    })
  }

  test('a scan with entities of a dropped table is INDEX_NOT_FOUND', async () => {
    const spec = { table: newName('ix'), columns: [{ name: 'a', type: 'integer' }] } as const
    const table = await freshTable(bench.shard, spec)
    await bench.shard.dropIndexTable(spec)
    expect(await codeOf(table.scanEntities([{ ...all, maxBody: 1 }]))).toBe('INDEX_NOT_FOUND')
    expect(await codeOf(table.scanVersions([all]))).toBe('INDEX_NOT_FOUND')
  })

  testTogether(parts, 'a row and its entity are of the same moment', async () => {
    const spec = { table: newName('ix'), columns: [{ name: 'a', type: 'integer' }] } as const
    const table = await freshTable(bench.shard, spec)
    const id = newId()
    await bench.shard.entities.insert([{ id, version: 1, body: Buffer.from('1') }], { epoch })
    let isWriting = true
    const found: [row: number, entity: number | undefined][] = []
    // The row gets each version before the entity. Read later than the row, the entity could have a greater one.
    const write = async (): Promise<void> => {
      // On a busy machine the reader may be slow.
      for (let version = 2; version <= 200 || (found.length <= 10 && version <= 5_000); version++) {
        await table.upsert([{ key: [1n], entityId: id, version }])
        await bench.shard.entities.replace([{ id, base: version - 1, version, body: Buffer.from('1') }], {
          epoch,
        })
      }
      isWriting = false
    }
    const read = async (): Promise<void> => {
      const other = bench.other.index(spec)
      const scan: IndexScan = { ...all, limit: 5 }
      while (isWriting) {
        const [joined = []] = await other.scanEntities([{ ...scan, maxBody: 100 }])
        const [versioned = []] = await other.scanVersions([scan])
        for (const { version, entity } of joined) found.push([version, entity?.version])
        for (const { version, entityVersion } of versioned) found.push([version, entityVersion])
      }
    }
    await Promise.all([write(), read()])
    expect(found.length).toBeGreaterThan(10)
    for (const [row, entity] of found) expect([row, row - 1]).toContain(entity)
  })
}

function plainRow({ key, entityId, included, ...row }: IndexRow): object {
  return { ...row, key: key.map(comparable), entityId: hex(entityId), included: hex(included) }
}
