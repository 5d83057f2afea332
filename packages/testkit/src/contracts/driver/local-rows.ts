import type { EntityInsert, EntityReplace, IndexRow, IndexTableSpec, Key } from '@looseleaf/core/internal'
import { expect } from 'expect'
import {
  codeOf,
  newEntity,
  newName,
  testTogether,
  withBench,
  type Bench,
  type ContractParts,
} from './harness.ts'

const epoch = 1

/** Local rows: index rows and claims in the transaction of their entity. */
export function localRowContract(parts: ContractParts): void {
  const { test } = parts.runner
  const bench = withBench(parts)

  test('local rows are committed with an inserted entity', async () => {
    const [a, b] = [await freshSpec(bench), await freshSpec(bench)]
    const entity = withRows(newEntity(7), [a, 1n, 2n], [b, 3n])
    await bench.shard.entities.insert([entity], { epoch })
    expect(await stampsOf(bench, a, entity.id)).toEqual([
      [1n, 7],
      [2n, 7],
    ])
    expect(await stampsOf(bench, b, entity.id)).toEqual([[3n, 7]])
    expect(await bench.shard.entities.readVersions([entity.id])).toEqual([7])
  })

  test('a batch may have entities with local rows, with pending rows, and without', async () => {
    const spec = await freshSpec(bench)
    const entities = Array.from({ length: 9 }, (_, i): EntityInsert => {
      const entity = newEntity(i + 1)
      if (i % 3 === 0) return entity
      return i % 3 === 1 ? withRows(entity, [spec, BigInt(i)]) : { ...entity, deferred: ['index_a'] }
    })
    await bench.shard.entities.insert(entities, { epoch })
    const replaces = entities.map((entity, i): EntityReplace => ({
      ...entity,
      base: i === 4 ? 999 : i + 1,
      version: i + 100,
      ...(i % 3 === 1 && { local: rowsOn(entity.id, i + 100, [spec, BigInt(i)]) }),
    }))
    const won = await bench.shard.entities.replace(replaces, { epoch })
    expect(won).toEqual(entities.map((_, i) => i !== 4))
    for (const [i, { id }] of entities.entries()) {
      const stamps = await stampsOf(bench, spec, id)
      if (i % 3 !== 1) expect(stamps).toEqual([])
      // A row that lost leaves its upsert.
      else expect(stamps).toEqual([[BigInt(i), i + 100]])
    }
  })

  test('a local row keeps the greater stamp', async () => {
    const spec = await freshSpec(bench)
    const entity = newEntity(5)
    await bench.shard.index(spec).upsert([{ key: [1n], entityId: entity.id, version: 9 }])
    await bench.shard.entities.insert([withRows(entity, [spec, 1n])], { epoch })
    expect(await stampsOf(bench, spec, entity.id)).toEqual([[1n, 9]])
  })

  test('hundreds of entities with several local rows are written in one call', async () => {
    const spec = await freshSpec(bench)
    const entities = Array.from({ length: 300 }, () => withRows(newEntity(1), [spec, 1n, 2n, 3n]))
    await bench.shard.entities.insert(entities, { epoch })
    const replaces = entities.map((entity, i): EntityReplace => ({
      ...withRows({ ...entity, version: 2 }, [spec, 4n]),
      base: i % 7 === 0 ? 999 : 1,
    }))
    const won = await bench.shard.entities.replace(replaces, { epoch })
    expect(won).toEqual(entities.map((_, i) => i % 7 !== 0))
    const ids = entities.map(({ id }) => id)
    const rows = await rowsIn(bench, spec, ids)
    expect(rows).toHaveLength(300 * 4)
    expect(await bench.shard.entities.readVersions(ids)).toEqual(won.map((hasWon) => (hasWon ? 2 : 1)))
  })

  test('a body of 9 MiB is written with local rows', async () => {
    const spec = await freshSpec(bench)
    const body = Buffer.alloc(9 * 2 ** 20, 'long ')
    const entity = withRows(newEntity(1, body), [spec, 1n])
    await bench.shard.entities.insert([entity], { epoch })
    const next = { ...withRows({ ...entity, version: 2 }, [spec, 2n]), base: 1 }
    expect(await bench.shard.entities.replace([next], { epoch })).toEqual([true])
    expect(await stampsOf(bench, spec, entity.id)).toEqual([
      [1n, 1],
      [2n, 2],
    ])
    const [row] = await bench.shard.entities.read([entity.id])
    expect(Buffer.compare(row?.body as Uint8Array, body)).toBe(0)
  })

  test('a rejected write leaves no local row, claim or pending row', async () => {
    const [spec, claims] = [await freshSpec(bench), await freshSpec(bench, true)]
    const stored = newEntity(1)
    await bench.shard.entities.insert([stored], { epoch })
    const deferred = [newName('index')]
    const again = (entity: EntityInsert): EntityInsert => {
      const { id, version } = entity
      const local = {
        ...rowsOn(id, version, [spec, 1n]),
        claims: [{ spec: claims, rows: [rowOf(id, version, 1n)] }],
      }
      return { ...entity, deferred, local }
    }
    const insert = bench.shard.entities.insert([again(stored)], { epoch })
    expect(await codeOf(insert)).toBe('ALREADY_EXISTS')
    const fresh = again(newEntity(1))
    expect(await codeOf(bench.shard.entities.insert([fresh], { epoch: 7 }))).toBe('STALE_EPOCH')
    const swap = { ...again({ ...stored, version: 2 }), base: 1 }
    expect(await codeOf(bench.shard.entities.replace([swap], { epoch: 7 }))).toBe('STALE_EPOCH')
    expect(await rowsIn(bench, spec, [stored.id, fresh.id])).toEqual([])
    expect(await rowsIn(bench, claims, [stored.id, fresh.id])).toEqual([])
    expect(await bench.shard.pending.tables()).not.toContain(deferred[0])
    expect(await bench.shard.entities.readVersions([stored.id, fresh.id])).toEqual([1, undefined])
  })

  test('a missing table of local rows is INDEX_NOT_FOUND, and nothing is written', async () => {
    const spec = await freshSpec(bench)
    const missing = { ...spec, table: newName('ix') }
    const entity = newEntity(1)
    const local = rowsOn(entity.id, 1, [spec, 1n], [missing, 1n])
    expect(await codeOf(bench.shard.entities.insert([{ ...entity, local }], { epoch }))).toBe(
      'INDEX_NOT_FOUND',
    )
    await bench.shard.entities.insert([entity], { epoch })
    for (const part of ['upsert', 'claims', 'remove'] as const) {
      const rows = { [part]: [{ spec: missing, rows: [rowOf(entity.id, 2, 1n)] }] }
      const swap = { ...entity, base: 1, version: 2, local: rows }
      expect(await codeOf(bench.shard.entities.replace([swap], { epoch }))).toBe('INDEX_NOT_FOUND')
    }
    expect(await rowsIn(bench, spec, [entity.id])).toEqual([])
    expect(await bench.shard.entities.readVersions([entity.id])).toEqual([1])
  })

  test('local claims are taken with the entity, and its own get the greater stamp', async () => {
    const spec = await freshSpec(bench, true)
    const entity = newEntity(5)
    const own = { key: [2n], entityId: entity.id, version: 9 }
    await bench.shard.claims(spec).take([own, { key: [3n], entityId: entity.id, version: 2 }])
    await bench.shard.entities.insert([withClaims(entity, spec, 1n, 2n, 3n)], { epoch })
    expect(await stampsOf(bench, spec, entity.id)).toEqual([
      [1n, 5],
      [2n, 9],
      [3n, 5],
    ])
  })

  test('a local claim of another entity is DUPLICATE_KEY, and nothing is written for any entity', async () => {
    const [claims, spec] = [await freshSpec(bench, true), await freshSpec(bench)]
    const holder = newEntity(5)
    await bench.shard.entities.insert([withClaims(holder, claims, 1n)], { epoch })
    const [a, b] = [newEntity(6), newEntity(6)]
    await bench.shard.entities.insert([a, b], { epoch })
    const next = [a, b].map(({ id }, i): EntityReplace => ({
      ...withClaims({ ...newEntity(7), id }, claims, BigInt(i), BigInt(i + 10)),
      base: 6,
    }))
    const swaps = next.map(({ local, ...row }) => ({
      ...row,
      local: { ...local, ...rowsOn(row.id, 7, [spec, 1n]) },
    }))
    expect(await codeOf(bench.shard.entities.replace(swaps, { epoch }))).toBe('DUPLICATE_KEY')
    const ids = [a.id, b.id]
    expect(await rowsIn(bench, claims, ids)).toEqual([])
    expect(await rowsIn(bench, spec, ids)).toEqual([])
    expect(await bench.shard.entities.readVersions(ids)).toEqual([6, 6])
    // Two entities of one call cannot have the same key.
    const rivals = [newEntity(1), newEntity(1)].map((entity) => withClaims(entity, claims, 99n))
    expect(await codeOf(bench.shard.entities.insert(rivals, { epoch }))).toBe('DUPLICATE_KEY')
    const rivalIds = rivals.map(({ id }) => id)
    expect(await rowsIn(bench, claims, rivalIds)).toEqual([])
    expect(await stampsOf(bench, claims, holder.id)).toEqual([[1n, 5]])
  })

  test('lost rows and claims below the version are deleted with the entity', async () => {
    const [spec, claims] = [await freshSpec(bench), await freshSpec(bench, true)]
    const entity = newEntity(5)
    const { id } = entity
    const local = { ...rowsOn(id, 5, [spec, 1n, 2n, 3n]), ...withClaims(entity, claims, 1n, 2n).local }
    await bench.shard.entities.insert([{ ...entity, local }], { epoch })
    const other = newEntity(5)
    await bench.shard.entities.insert([withRows(other, [spec, 1n])], { epoch })
    // An attempt of a later version has stamped this row.
    await bench.shard.index(spec).upsert([{ key: [2n], entityId: id, version: 50 }])
    const remove = [
      { spec, rows: [{ key: [1n] }, { key: [2n] }] },
      { spec: claims, rows: [{ key: [1n] }] },
    ]
    const next = { ...entity, base: 5, version: 6, local: { remove } }
    expect(await bench.shard.entities.replace([next], { epoch })).toEqual([true])
    expect(await stampsOf(bench, spec, id)).toEqual([
      [2n, 50],
      [3n, 5],
    ])
    expect(await stampsOf(bench, claims, id)).toEqual([[2n, 5]])
    expect(await stampsOf(bench, spec, other.id)).toEqual([[1n, 5]])
  })

  test('a tombstone deletes the rows that it has lost', async () => {
    const spec = await freshSpec(bench)
    const entity = newEntity(5)
    await bench.shard.entities.insert([withRows(entity, [spec, 1n])], { epoch })
    const local = { remove: [{ spec, rows: [{ key: [1n] }] }] }
    const tombstone = { id: entity.id, base: 5, version: 6, body: null, local }
    expect(await bench.shard.entities.replace([tombstone], { epoch })).toEqual([true])
    expect(await rowsIn(bench, spec, [entity.id])).toEqual([])
  })

  test('a row that loses its swap deletes nothing, even if the winner has the same version', async () => {
    const spec = await freshSpec(bench)
    const entities = Array.from({ length: 4 }, () => withRows(newEntity(5), [spec, 1n]))
    await bench.shard.entities.insert(entities, { epoch })
    const losers = entities.slice(0, 3)
    const winner = Buffer.from('the winner')
    await bench.shard.entities.replace(
      losers.map(({ id }, i) => ({ id, base: 5, version: 6, body: i === 2 ? null : winner })),
      { epoch },
    )
    const swaps = entities.map(({ id }, i): EntityReplace => ({
      id,
      base: 5,
      // The first loser has a version of its own, the others that of the winner.
      version: i === 0 ? 7 : 6,
      body: i === 1 ? null : Buffer.from('late'),
      local: { remove: [{ spec, rows: [{ key: [1n] }] }] },
    }))
    expect(await bench.shard.entities.replace(swaps, { epoch })).toEqual([false, false, false, true])
    for (const { id } of losers) expect(await stampsOf(bench, spec, id)).toEqual([[1n, 5]])
    expect(await rowsIn(bench, spec, [entities[3]!.id])).toEqual([])
  })

  testTogether(
    parts,
    'writes of the same entities and rows in different orders do not deadlock',
    async () => {
      const [a, b, claims] = [await freshSpec(bench), await freshSpec(bench), await freshSpec(bench, true)]
      const entities = Array.from({ length: 12 }, () => newEntity(1))
      await bench.shard.entities.insert(entities, { epoch })
      const outcomes = await Promise.all(
        Array.from({ length: 16 }, (_, writer) => {
          const rows = entities.map((__, i): EntityReplace => {
            const { id } = entities[(i * 5 + writer) % 12]!
            const version = 10 + writer
            const number = BigInt(entities.findIndex((entity) => entity.id === id))
            const tables = writer % 2 === 0 ? [a, b] : [b, a]
            const local = {
              upsert: tables.map((spec) => ({
                spec,
                rows: [rowOf(id, version, 2n), rowOf(id, version, 1n)],
              })),
              claims: [{ spec: claims, rows: [rowOf(id, version, number)] }],
              remove: tables.map((spec) => ({ spec, rows: [{ key: [3n] }] })),
            }
            return { id, base: 1, version, body: Buffer.from(`${writer}`), local }
          })
          const { entities: table } = writer % 2 === 0 ? bench.shard : bench.other
          return codeOf(table.replace(rows, { epoch }))
        }),
      )
      expect(new Set(outcomes)).toEqual(new Set(['no error']))
    },
  )
}

export async function freshSpec(bench: Bench, unique?: true): Promise<IndexTableSpec> {
  const columns = [{ name: 'n', type: 'integer' as const }]
  const spec: IndexTableSpec = { table: newName('ix'), columns, ...(unique && { unique }) }
  await bench.shard.createIndexTable(spec)
  return spec
}

export function rowOf(entityId: Uint8Array, version: number, ...key: Key): IndexRow {
  return { key, entityId, version }
}

type KeysOfTable = readonly [spec: IndexTableSpec, ...numbers: readonly bigint[]]

export function rowsOn(
  id: Uint8Array,
  version: number,
  ...tables: readonly KeysOfTable[]
): NonNullable<EntityInsert['local']> {
  return {
    upsert: tables.map(([spec, ...numbers]) => ({
      spec,
      rows: numbers.map((number) => rowOf(id, version, number)),
    })),
  }
}

export function withRows(entity: EntityInsert, ...tables: readonly KeysOfTable[]): EntityInsert {
  return { ...entity, local: rowsOn(entity.id, entity.version, ...tables) }
}

export function withClaims(
  entity: EntityInsert,
  spec: IndexTableSpec,
  ...numbers: readonly bigint[]
): EntityInsert {
  const rows = numbers.map((number) => rowOf(entity.id, entity.version, number))
  return { ...entity, local: { claims: [{ spec, rows }] } }
}

export async function rowsIn(
  { shard }: Bench,
  spec: IndexTableSpec,
  ids: readonly Uint8Array[],
): Promise<readonly IndexRow[]> {
  const [rows = []] = await shard.rowsOf([spec], ids)
  return rows
}

/** Returns the number and the stamp of each row of an entity, in the order of the numbers. */
export async function stampsOf(bench: Bench, spec: IndexTableSpec, id: Uint8Array): Promise<unknown> {
  const rows = await rowsIn(bench, spec, [id])
  return rows
    .map(({ key, version }) => [key[0] as bigint, version] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}
