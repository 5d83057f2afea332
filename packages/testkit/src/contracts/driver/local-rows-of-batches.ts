import type { BatchRow, EntityReplace } from '@looseleaf/core/internal'
import { expect } from 'expect'
import { codeOf, newEntity, newId, newName, testTogether, withBench, type ContractParts } from './harness.ts'
import { freshSpec, rowOf, rowsIn, rowsOn, stampsOf, withClaims, withRows } from './local-rows.ts'

const epoch = 1

export function batchedLocalRowContract(parts: ContractParts): void {
  const { test } = parts.runner
  const bench = withBench(parts)

  const versions = (rows: readonly BatchRow[]): Promise<readonly (number | undefined)[]> =>
    bench.shard.entities.readVersions(rows.map(({ id }) => id))

  test('a batch upserts local rows, takes local claims, and deletes the lost ones', async () => {
    const [spec, other, claims] = [
      await freshSpec(bench),
      await freshSpec(bench),
      await freshSpec(bench, true),
    ]
    const stored = [newEntity(1), newEntity(1)].map((entity, i) => ({
      ...entity,
      local: { ...rowsOn(entity.id, 1, [spec, 1n, 2n]), ...withClaims(entity, claims, BigInt(i)).local },
    }))
    await bench.shard.entities.insert(stored, { epoch })
    const [replaced, deleted] = stored as [EntityReplace, EntityReplace]
    const inserted = { ...newEntity(5), base: 0 }
    const held = newEntity(1)
    await bench.shard.entities.insert([held], { epoch })
    const remove = [{ spec, rows: [{ key: [1n] }, { key: [2n] }] }]
    const rows: BatchRow[] = [
      {
        ...inserted,
        local: {
          ...rowsOn(inserted.id, 5, [spec, 7n], [other, 8n]),
          ...withClaims(inserted, claims, 9n).local,
        },
      },
      {
        ...replaced,
        base: 1,
        version: 5,
        local: { ...rowsOn(replaced.id, 5, [spec, 2n, 3n]), remove: [{ spec, rows: [{ key: [1n] }] }] },
      },
      {
        id: deleted.id,
        base: 1,
        version: 5,
        body: null,
        local: { remove: [...remove, { spec: claims, rows: [{ key: [1n] }] }] },
      },
      { id: held.id, base: 1 },
    ]
    expect(await bench.shard.entities.writeAll(rows, { epoch })).toBe('written')
    expect(await versions(rows)).toEqual([5, 5, 5, 1])
    expect(await stampsOf(bench, spec, inserted.id)).toEqual([[7n, 5]])
    expect(await stampsOf(bench, other, inserted.id)).toEqual([[8n, 5]])
    expect(await stampsOf(bench, claims, inserted.id)).toEqual([[9n, 5]])
    expect(await stampsOf(bench, spec, replaced.id)).toEqual([
      [2n, 5],
      [3n, 5],
    ])
    expect(await stampsOf(bench, claims, replaced.id)).toEqual([[0n, 1]])
    expect(await rowsIn(bench, spec, [deleted.id])).toEqual([])
    expect(await rowsIn(bench, claims, [deleted.id])).toEqual([])
  })

  test('a batch that another write overtook, or that is refused, leaves no local row or claim, and deletes none', async () => {
    const [spec, claims] = [await freshSpec(bench), await freshSpec(bench, true)]
    const stored = withRows(newEntity(1), [spec, 1n])
    await bench.shard.entities.insert([stored], { epoch })
    const swap: EntityReplace = {
      ...newEntity(5),
      id: stored.id,
      base: 1,
      local: { ...rowsOn(stored.id, 5, [spec, 2n]), remove: [{ spec, rows: [{ key: [1n] }] }] },
    }
    const fresh = { ...withClaims(newEntity(5), claims, 1n), base: 0 }
    for (const missing of [
      { id: newId(), base: 1 },
      { ...newEntity(5), base: 1 },
    ]) {
      const lost = [swap, fresh, missing]
      expect(await bench.shard.entities.writeAll(lost, { epoch })).toEqual({ lost: [2] })
    }
    expect(await codeOf(bench.shard.entities.writeAll([swap, fresh], { epoch: 7 }))).toBe('STALE_EPOCH')
    for (const part of ['upsert', 'claims', 'remove'] as const) {
      const missing = { spec: { ...spec, table: newName('ix') }, rows: [rowOf(fresh.id, 5, 1n)] }
      const failing = [swap, { ...fresh, local: { [part]: [missing] } }]
      expect(await codeOf(bench.shard.entities.writeAll(failing, { epoch }))).toBe('INDEX_NOT_FOUND')
    }
    expect(await versions([swap, fresh])).toEqual([1, undefined])
    expect(await stampsOf(bench, spec, stored.id)).toEqual([[1n, 1]])
    expect(await rowsIn(bench, claims, [fresh.id])).toEqual([])
    expect(await bench.shard.entities.writeAll([swap, fresh], { epoch })).toBe('written')
    expect(await stampsOf(bench, spec, stored.id)).toEqual([[2n, 5]])
  })

  test('a local claim of another entity ends a batch as DUPLICATE_KEY, and undoes it', async () => {
    const [spec, claims] = [await freshSpec(bench), await freshSpec(bench, true)]
    const [holder, giver] = [newEntity(1), newEntity(1)]
    await bench.shard.entities.insert([withClaims(holder, claims, 1n), withClaims(giver, claims, 2n)], {
      epoch,
    })
    const taker = newEntity(5)
    const local = { ...rowsOn(taker.id, 5, [spec, 1n]), ...withClaims(taker, claims, 1n).local }
    const rows = [
      { ...taker, base: 0, local },
      { ...newEntity(5), id: giver.id, base: 1 },
    ]
    const handed = [{ spec: claims, key: [2n], from: giver.id, to: { entityId: taker.id, version: 5 } }]
    expect(await codeOf(bench.shard.entities.writeAll(rows, { epoch, claims: handed }))).toBe('DUPLICATE_KEY')
    expect(await versions(rows)).toEqual([undefined, 1])
    expect(await rowsIn(bench, spec, [taker.id])).toEqual([])
    expect(await stampsOf(bench, claims, giver.id)).toEqual([[2n, 1]])
    const other = [{ ...rows[0]!, local: withClaims(taker, claims, 3n).local }, rows[1]!]
    expect(await bench.shard.entities.writeAll(other, { epoch, claims: handed })).toBe('written')
    expect(await stampsOf(bench, claims, taker.id)).toEqual([
      [2n, 5],
      [3n, 5],
    ])
  })

  test('a claim that a batch hands over stays although its former holder has lost it', async () => {
    const claims = await freshSpec(bench, true)
    const stored = [newEntity(1), newEntity(1)].map((entity, i) => withClaims(entity, claims, BigInt(i)))
    await bench.shard.entities.insert(stored, { epoch })
    const [a, b] = stored.map(({ id }, i): EntityReplace => ({
      ...newEntity(5),
      id,
      base: 1,
      local: { remove: [{ spec: claims, rows: [{ key: [BigInt(i)] }] }] },
    })) as [EntityReplace, EntityReplace]
    const handed = [
      { spec: claims, key: [0n], from: a.id, to: { entityId: b.id, version: 5 } },
      { spec: claims, key: [1n], from: b.id, to: { entityId: a.id, version: 5 } },
    ]
    expect(await bench.shard.entities.writeAll([a, b], { epoch, claims: handed })).toBe('written')
    expect(await stampsOf(bench, claims, a.id)).toEqual([[1n, 5]])
    expect(await stampsOf(bench, claims, b.id)).toEqual([[0n, 5]])
  })

  testTogether(
    parts,
    'batches and single writes of the same entities and rows do not wait for each other for ever, and every committed version has its row',
    async () => {
      const spec = await freshSpec(bench)
      const stored = Array.from({ length: 4 }, () => newEntity(1))
      await bench.shard.entities.insert(stored, { epoch })
      const ids = stored.map(({ id }) => id)
      let version = 1
      const writer = async (number: number): Promise<void> => {
        const { entities } = number % 2 === 0 ? bench.shard : bench.other
        for (let round = 0; round < 8; round++) {
          const bases = (await entities.readVersions(ids)) as number[]
          const next = (version += 1)
          const rows = ids.map((id, i): EntityReplace => ({
            ...newEntity(next),
            id,
            base: bases[i]!,
            local: {
              ...rowsOn(id, next, [spec, BigInt(next)]),
              remove: [{ spec, rows: [{ key: [BigInt(bases[i]!)] }] }],
            },
          }))
          const writing =
            number < 2 ? entities.writeAll(rows, { epoch }) : entities.replace(rows.slice(0, 2), { epoch })
          expect(['no error', 'SHARD_BUSY']).toContain(await codeOf(writing))
        }
      }
      await Promise.all([0, 1, 2, 3].map(writer))
      const found = await bench.shard.entities.readVersions(ids)
      for (const [i, id] of ids.entries()) {
        const keys = (await rowsIn(bench, spec, [id])).map(({ key }) => Number(key[0]))
        if (found[i] !== 1) expect(keys).toContain(found[i])
      }
    },
  )
}
