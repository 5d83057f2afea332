import { randomBytes } from 'node:crypto'
import type { EntityReplace, EntitySwap } from '@looseleaf/core/internal'
import { expect } from 'expect'
import {
  codeOf,
  hex,
  hexed,
  newEntity,
  newId,
  testTogether,
  withBench,
  type ContractParts,
} from './harness.ts'

const epoch = 1

export function entityContract(parts: ContractParts): void {
  const { describe, test } = parts.runner
  describe('reading', () => {
    const bench = withBench(parts)

    test('rows come in the order of the ids, undefined for a missing one, and ids may repeat', async () => {
      const [a, b] = [newEntity(5), newEntity(6)]
      await bench.shard.entities.insert([a, b], { epoch })
      const ids = [b.id, newId(), a.id, b.id, Uint8Array.from(a.id)]
      const rows = await bench.shard.entities.read(ids)
      expect(rows.map((row) => hex(row?.id))).toEqual(
        [b, undefined, a, b, a].map((entity) => hex(entity?.id)),
      )
      expect(rows.map((row) => row?.version)).toEqual([6, undefined, 5, 6, 5])
      expect(rows.map((row) => hex(row?.body))).toEqual(
        [b, undefined, a, b, a].map((entity) => hex(entity?.body)),
      )
      expect(await bench.shard.entities.readVersions(ids)).toEqual([6, undefined, 5, 6, 5])
    })

    test('reads of no ids return nothing', async () => {
      expect(await bench.shard.entities.read([])).toEqual([])
      expect(await bench.shard.entities.readVersions([])).toEqual([])
      expect(await bench.shard.entities.exist([])).toEqual([])
    })

    test('an entity with a body exists, and a tombstone does not', async () => {
      const [living, tombstone] = [newEntity(), newEntity(1, null)]
      await bench.shard.entities.insert([living, tombstone], { epoch })
      const ids = [living.id, tombstone.id, newId(), living.id]
      expect(await bench.shard.entities.exist(ids)).toEqual([true, false, false, true])
    })

    test('thousands of ids are read at once', async () => {
      const entities = Array.from({ length: 300 }, (_, i) => newEntity(i + 1))
      await bench.shard.entities.insert(entities, { epoch })
      const ids = Array.from({ length: 3_001 }, (_, i) => (entities[i % 301] ?? newEntity()).id)
      const versions = ids.map((_, i) => (i % 301 === 300 ? undefined : (i % 301) + 1))
      expect(await bench.shard.entities.readVersions(ids)).toEqual(versions)
      expect((await bench.shard.entities.read(ids)).map((row) => row?.version)).toEqual(versions)
    })

    test('bodies of all lengths and bytes come back unchanged', async () => {
      const allBytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
      const bodies = [
        Buffer.from([0]),
        Buffer.from('\';\\"--`?\n'),
        allBytes,
        Buffer.alloc(70_000, 0x27),
        randomBytes(70_000),
      ]
      const entities = bodies.map((body) => newEntity(1, body))
      await bench.shard.entities.insert(entities, { epoch })
      const rows = await bench.shard.entities.read(entities.map(({ id }) => id))
      expect(rows.map((row) => hex(row?.body))).toEqual(bodies.map(hex))
    })

    test('long bodies are replaced in one call with short ones and tombstones', async () => {
      const entities = [newEntity(), newEntity(), newEntity()]
      await bench.shard.entities.insert(entities, { epoch })
      const bodies = [randomBytes(70_000), null, randomBytes(5)]
      const rows = entities.map(({ id }, i) => ({ id, base: 1, version: 2, body: bodies[i] ?? null }))
      expect(await bench.shard.entities.replace(rows, { epoch })).toEqual([true, true, true])
      const found = await bench.shard.entities.read(rows.map(({ id }) => id))
      expect(found.map((row) => hex(row?.body))).toEqual(bodies.map(hex))
    })

    test('a body of 9 MiB is inserted, replaced and read', async () => {
      const [first, second] = [randomBytes(9 * 2 ** 20), randomBytes(9 * 2 ** 20)]
      const { entities } = bench.shard
      const { id } = newEntity()
      const expectStored = async (body: Buffer): Promise<void> =>
        expect(Buffer.compare((await entities.read([id]))[0]!.body!, body)).toBe(0)
      await entities.insert([{ id, version: 1, body: first }], { epoch })
      await expectStored(first)
      expect(await entities.replace([{ id, base: 1, version: 2, body: second }], { epoch })).toEqual([true])
      await expectStored(second)
    })

    test('a bounded read omits longer bodies, returns their length, and returns all others', async () => {
      const lengths = [1, 99, 100, 101, 5_000, 70_000]
      const entities = lengths.map((length) => newEntity(length, randomBytes(length)))
      const tombstone = newEntity(7, null)
      await bench.shard.entities.insert([...entities, tombstone], { epoch })
      const stored = [...entities, tombstone]
      const ids = [newId(), ...stored.map(({ id }) => id), (entities[4] as (typeof entities)[number]).id]
      const whole = await bench.shard.entities.read(ids)
      for (const maxBody of [0, 100, 70_000]) {
        const rows = await bench.shard.entities.readBounded(ids, maxBody)
        expect(rows).toHaveLength(ids.length)
        for (const [i, row] of rows.entries()) {
          const expected = whole[i]
          const bodyBytes = expected?.body?.length ?? 0
          expect(hexed(row)).toEqual(
            expected &&
              hexed({ ...expected, bodyBytes, body: bodyBytes > maxBody ? undefined : expected.body }),
          )
        }
      }
      expect(await bench.shard.entities.readBounded([], 100)).toEqual([])
    })

    test('bounded reads of many ids are exact', async () => {
      const entities = Array.from({ length: 300 }, (_, i) => newEntity(i + 1, Buffer.alloc(1 + (i % 7), i)))
      await bench.shard.entities.insert(entities, { epoch })
      const ids = Array.from({ length: 1_500 }, (_, i) => (entities[(i * 7) % 301] ?? newEntity()).id)
      const rows = await bench.shard.entities.readBounded(ids, 4)
      for (const [i, row] of rows.entries()) {
        const entity = entities[(i * 7) % 301]
        const length = entity?.body?.length
        const body = (length ?? 0) > 4 ? undefined : entity?.body
        expect([row?.version, row?.bodyBytes, hex(row?.body)]).toEqual([entity?.version, length, hex(body)])
      }
    })

    test('a tombstone has a version and no body', async () => {
      const entity = newEntity(7, null)
      await bench.shard.entities.insert([entity], { epoch })
      const [row] = await bench.shard.entities.read([entity.id])
      expect(row?.body).toBeNull()
      expect(row?.version).toBe(7)
    })

    test('versions are exact up to the greatest safe integer', async () => {
      const versions = [1, 1_700_000_000_123_457, Number.MAX_SAFE_INTEGER]
      const entities = versions.map((version) => newEntity(version))
      await bench.shard.entities.insert(entities, { epoch })
      expect(await bench.shard.entities.readVersions(entities.map(({ id }) => id))).toEqual(versions)
    })

    test('repairVersion replaces a version that no write can have given, and leaves all others', async () => {
      const far = [newEntity(2 ** 53), newEntity(9_100_000_000_000_000), newEntity(0)]
      const right = [newEntity(1), newEntity(Number.MAX_SAFE_INTEGER)]
      const { entities } = bench.shard
      await entities.insert([...far, ...right], { epoch })
      const before = await bench.shard.now()
      for (const { id, body } of far) {
        expect(await entities.repairVersion(id, 7)).toBe(true)
        expect(await entities.repairVersion(id, 8)).toBe(false)
        const [row] = await entities.read([id])
        expect([row?.version, hex(row?.body)]).toEqual([7, hex(body)])
        expect(row?.updated).toBeGreaterThanOrEqual(before)
      }
      for (const { id } of right) expect(await entities.repairVersion(id, 7)).toBe(false)
      expect(await entities.repairVersion(newId(), 7)).toBe(false)
      expect(await entities.readVersions(right.map(({ id }) => id))).toEqual([1, Number.MAX_SAFE_INTEGER])
    })

    test('the time of a write is the database’s, and each replacement sets it', async () => {
      const before = await bench.shard.now()
      const entities = [newEntity(1), newEntity(1), newEntity(1)]
      const ids = entities.map(({ id }) => id)
      await bench.shard.entities.insert(entities, { epoch })
      const inserted = await bench.shard.now()
      for (const row of await bench.shard.entities.read(ids)) {
        expect(row?.updated).toBeGreaterThanOrEqual(before)
        expect(row?.updated).toBeLessThanOrEqual(inserted)
      }
      // Waits for the next tick of the clock, which may be coarse.
      let later = inserted
      while (later === inserted) later = await bench.shard.now()
      // One row alone, and two in one call.
      for (const rows of [entities.slice(0, 1), entities.slice(1)]) {
        await bench.shard.entities.replace(
          rows.map((row) => ({ ...row, base: 1, version: 2 })),
          { epoch },
        )
      }
      const replaced = await bench.shard.now()
      for (const row of await bench.shard.entities.read(ids)) {
        expect(row?.updated).toBeGreaterThanOrEqual(later)
        expect(row?.updated).toBeLessThanOrEqual(replaced)
      }
    })
  })

  describe('writing', () => {
    const bench = withBench(parts)

    test('writes of no rows do nothing', async () => {
      await bench.shard.entities.insert([], { epoch: 99 })
      expect(await bench.shard.entities.replace([], { epoch: 99 })).toEqual([])
    })

    test('an existing id rejects the whole insert', async () => {
      const [stored, fresh] = [newEntity(1), newEntity(1)]
      await bench.shard.entities.insert([stored], { epoch })
      const again = bench.shard.entities.insert([fresh, { ...stored, version: 2, body: null }], { epoch })
      expect(await codeOf(again)).toBe('ALREADY_EXISTS')
      expect(await bench.shard.entities.readVersions([stored.id, fresh.id])).toEqual([1, undefined])
    })

    test('the id of a tombstone exists for an insert', async () => {
      const tombstone = newEntity(1, null)
      await bench.shard.entities.insert([tombstone], { epoch })
      expect(await codeOf(bench.shard.entities.insert([{ ...tombstone, version: 2 }], { epoch }))).toBe(
        'ALREADY_EXISTS',
      )
    })

    test('hundreds of rows are written in one call', async () => {
      const entities = Array.from({ length: 400 }, () => newEntity(1))
      await bench.shard.entities.insert(entities, { epoch })
      const replaced = entities.map((entity, i) => ({ ...entity, base: 1, version: i + 2 }))
      expect(new Set(await bench.shard.entities.replace(replaced, { epoch }))).toEqual(new Set([true]))
      const versions = await bench.shard.entities.readVersions(entities.map(({ id }) => id))
      expect(versions).toEqual(replaced.map(({ version }) => version))
    })

    test('a batch of replacements returns the outcome of each row', async () => {
      const entities = Array.from({ length: 5 }, () => newEntity(10))
      await bench.shard.entities.insert(entities, { epoch })
      const [a, b, c, d, e] = entities.map(({ id }) => id) as [Buffer, Buffer, Buffer, Buffer, Buffer]
      const body = Buffer.from('n')
      const swap = (id: Buffer, base: number, version: number): EntityReplace => ({ id, base, version, body })
      // Twice, since a driver may take another path after a row that lost.
      for (const base of [10, 20]) {
        const rows = [
          swap(e, base, base + 10),
          swap(a, base - 1, 99),
          swap(newId(), 1, 2),
          swap(c, base, base + 10),
          swap(b, base + 1, base + 10),
        ]
        expect(await bench.shard.entities.replace(rows, { epoch })).toEqual([true, false, false, true, false])
        expect(await bench.shard.entities.readVersions([a, b, c, d, e])).toEqual([
          10,
          10,
          base + 10,
          10,
          base + 10,
        ])
        const [lost, won] = await bench.shard.entities.read([a, c])
        expect(hex(won?.body)).toBe(hex(body))
        expect(hex(lost?.body)).toBe(hex(entities[0]?.body))
      }
      expect(await bench.shard.entities.replace([swap(a, 1, 2)], { epoch })).toEqual([false])
      expect(await bench.shard.entities.replace([swap(a, 1, 2), swap(b, 1, 2)], { epoch })).toEqual([
        false,
        false,
      ])
    })

    test('a batch of replacements compares the base bodies that are given, and replaces no row that has another body', async () => {
      // One row and several take different statements.
      for (const count of [1, 3]) {
        const [own, other] = [Buffer.from('own'), Buffer.from('other')]
        const entities = Array.from({ length: 2 * count }, () => ({ ...newEntity(1), body: own }))
        await bench.shard.entities.insert(entities, { epoch })
        const [same, changed] = [entities.slice(0, count), entities.slice(count)]
        const swaps = (rows: typeof entities, base: number, baseBody: Buffer | null): EntitySwap[] =>
          rows.map(({ id }) => ({ id, base, baseBody, version: base + 1, body: null }))
        const replace = (rows: readonly EntitySwap[]) => bench.shard.entities.replace(rows, { epoch })
        expect(new Set(await replace(swaps(changed, 1, other)))).toEqual(new Set([false]))
        expect(new Set(await replace(swaps(changed, 1, null)))).toEqual(new Set([false]))
        expect(new Set(await replace(swaps(same, 1, own)))).toEqual(new Set([true]))
        // The rows of `same` are tombstones now.
        expect(new Set(await replace(swaps(same, 2, own)))).toEqual(new Set([false]))
        const plain = ({ baseBody: _, ...row }: EntitySwap): EntitySwap => row
        const mixed = [...swaps(same, 2, null), ...swaps(changed, 1, other)]
        expect(await replace(mixed)).toEqual([...same.map(() => true), ...changed.map(() => false)])
        const last = [...swaps(same, 3, own), ...swaps(changed, 1, other).map(plain)]
        expect(await replace(last)).toEqual([...same.map(() => false), ...changed.map(() => true)])
      }
    })

    test('an entity becomes a tombstone, and an entity again', async () => {
      const entity = newEntity(1)
      await bench.shard.entities.insert([entity], { epoch })
      await bench.shard.entities.replace([{ id: entity.id, base: 1, version: 2, body: null }], { epoch })
      expect((await bench.shard.entities.read([entity.id]))[0]?.body).toBeNull()
      await bench.shard.entities.replace([{ ...entity, base: 2, version: 3 }], { epoch })
      expect(hex((await bench.shard.entities.read([entity.id]))[0]?.body)).toBe(hex(entity.body))
    })

    test('one of several concurrent inserts of one id succeeds', async () => {
      const id = newId()
      const codes = await Promise.all(
        Array.from({ length: 8 }, (_, i) => {
          const { entities } = i % 2 === 0 ? bench.shard : bench.other
          return codeOf(entities.insert([{ id, version: i + 1, body: null }], { epoch }))
        }),
      )
      expect(codes.toSorted()).toEqual([...Array<string>(7).fill('ALREADY_EXISTS'), 'no error'])
      expect(await bench.shard.entities.readVersions([id])).toEqual([codes.indexOf('no error') + 1])
    })

    test('one of several concurrent replacements from one base wins', async () => {
      const entities = Array.from({ length: 10 }, () => newEntity(1))
      await bench.shard.entities.insert(entities, { epoch })
      for (let base = 1; base < 10; base++) {
        const attempts = await Promise.all(
          Array.from({ length: 6 }, async (_, writer) => {
            const version = 10 * base + writer
            // Each writer has another order, which must not cause deadlocks.
            const rows = entities.map((_, i) => ({ ...entities[(i * 3 + writer) % 10]!, base, version }))
            const outcomes = await (writer % 2 === 0 ? bench.shard : bench.other).entities.replace(rows, {
              epoch,
            })
            return { version, won: new Set(rows.filter((_, i) => outcomes[i]).map(({ id }) => hex(id))) }
          }),
        )
        const versions = await bench.shard.entities.readVersions(entities.map(({ id }) => id))
        for (const [i, { id }] of entities.entries()) {
          const winners = attempts.filter(({ won }) => won.has(hex(id)))
          expect(winners.map(({ version }) => version)).toEqual([versions[i]])
        }
        // All entities get the same base again.
        const next = entities.map((entity, i) => ({ ...entity, base: versions[i]!, version: base + 1 }))
        expect((await bench.shard.entities.replace(next, { epoch })).every(Boolean)).toBe(true)
      }
    })

    testTogether(parts, 'another process sees an acknowledged write', async () => {
      const entity = newEntity(3)
      await bench.shard.entities.insert([entity], { epoch })
      expect(await bench.other.entities.readVersions([entity.id])).toEqual([3])
    })
  })
}
