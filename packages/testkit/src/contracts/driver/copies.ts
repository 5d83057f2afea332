import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { CopiedRow, EntityChecksum, EntityPageRow } from '@looseleaf/core/internal'
import { expect } from 'expect'
import { codeOf, FIRST, hex, hexed, newEntity, newId, withBench, type ContractParts } from './harness.ts'

const epoch = 1

/** Defines the tests of rows that are copied from another shard, and of their comparison. */
export function copiesContract(parts: ContractParts): void {
  const { describe, test } = parts.runner
  describe('copies', () => {
    const bench = withBench(parts)

    /** Raises the floor, writes copies with it as their time, and returns it. */
    async function receive(rows: readonly CopiedRow[]): Promise<number> {
      const floor = await bench.shard.entities.raiseFloor()
      await bench.shard.entities.receive(rows, { epoch, updated: floor })
      return floor
    }

    async function expectStored(rows: readonly CopiedRow[], updated: number): Promise<void> {
      const stored = await bench.shard.entities.read(rows.map(({ id }) => id))
      expect(stored.map(hexed)).toEqual(
        rows.map(({ id, version, body }) => hexed({ id, version, updated, body })),
      )
    }

    test('copies have the version, the body and the time that they were given, and tombstones are copied too', async () => {
      const rows = [newEntity(7), newEntity(3, null), newEntity(Number.MAX_SAFE_INTEGER)]
      await expectStored(rows, await receive(rows))
      const later = [newEntity(1)]
      await expectStored(later, await receive(later))
    })

    test('a row that was read can be written as its own copy', async () => {
      const entities = [newEntity(5), newEntity(6, null)]
      await bench.shard.entities.insert(entities, { epoch })
      const rows = await bench.shard.entities.read(entities.map(({ id }) => id))
      await expectStored(entities, await receive(rows as readonly CopiedRow[]))
    })

    test('a copy overwrites the row under its id, whatever its version, and the row keeps its addedId', async () => {
      const entity = newEntity(9)
      await bench.shard.entities.insert([entity], { epoch })
      const addedId = await addedIdOf(entity.id)
      for (const row of [
        { ...entity, version: 5, body: randomBytes(70_000) },
        { ...entity, version: 7, body: null },
        { ...entity, version: 7, body: randomBytes(3) },
      ]) {
        const fresh = newEntity(5)
        await expectStored([row, fresh], await receive([row, fresh]))
        expect(await addedIdOf(entity.id)).toBe(addedId)
        expect(await addedIdOf(fresh.id)).toBeGreaterThan(addedId)
      }
    })

    test('a copy that arrives late overwrites none of a later time, whatever its version, and writes the other rows', async () => {
      const { entities } = bench.shard
      const rows = [newEntity(9), newEntity(8), newEntity(7, null)]
      const updated = await receive(rows)
      const later = rows
        .slice(0, 2)
        .map((row, i) => ({ ...row, version: 5, body: i === 0 ? null : row.body }))
      const laterTime = await receive(later)
      const fresh = newEntity(3)
      await entities.receive(
        [...rows, fresh].map((row) => ({ ...row, body: randomBytes(9) })),
        {
          epoch,
          updated: updated - 1,
        },
      )
      await expectStored(later, laterTime)
      await expectStored(rows.slice(2), updated)
      expect(await entities.readVersions([fresh.id])).toEqual([3])
      const again = later.map((row) => ({ ...row, version: 4 }))
      await entities.receive(again, { epoch, updated: laterTime })
      await expectStored(again, laterTime)
    })

    test('a copy with another epoch, or with a time above the floor, is STALE_EPOCH, and no row is written', async () => {
      const stored = newEntity(4)
      await bench.shard.entities.insert([stored], { epoch })
      const floor = await bench.shard.entities.raiseFloor()
      const rows = [newEntity(1), { ...stored, version: 8 }, newEntity(2)]
      for (const some of [rows, rows.slice(1, 2)]) {
        for (const options of [
          { epoch: epoch - 1, updated: floor },
          { epoch: epoch + 1, updated: floor },
          { epoch, updated: floor + 1 },
        ])
          expect(await codeOf(bench.shard.entities.receive(some, options))).toBe('STALE_EPOCH')
      }
      expect(await bench.shard.entities.readVersions(rows.map(({ id }) => id))).toEqual([
        undefined,
        4,
        undefined,
      ])
    })

    test('a copy is STALE_EPOCH, and no row is written, unless an earlier copy is there', async () => {
      const { entities } = bench.shard
      const [earlier, row, other] = [newEntity(3, null), newEntity(4), newEntity(5)]
      const updated = await receive([earlier])
      for (const after of [
        { id: row.id, updated: 1 },
        { id: earlier.id, updated: updated + 1 },
      ])
        expect(await codeOf(entities.receive([row, other], { epoch, updated, after }))).toBe('STALE_EPOCH')
      expect(await entities.readVersions([row.id, other.id])).toEqual([undefined, undefined])
      await entities.receive([row, other], { epoch, updated, after: { id: earlier.id, updated } })
      await entities.receive([earlier], { epoch, updated, after: { id: earlier.id, updated: updated - 1 } })
      await expectStored([earlier, row, other], updated)
    })

    test('every copy is below the next floor, and every later write at or above it', async () => {
      const { entities } = bench.shard
      const until = await entities.raiseFloor()
      const copies = [newEntity(1), newEntity(1)]
      await entities.receive(copies, { epoch, updated: until })
      const begin = await entities.raiseFloor()
      const written = [newEntity(1), newEntity(1)]
      await entities.insert(written, { epoch })
      await entities.replace([{ ...copies[0]!, base: 1, version: 2 }], { epoch })
      const changed = await entities.pageOfChanges(
        { after: { updated: until, addedId: 0 }, until: begin },
        10,
      )
      expect(changed.map(({ id }) => hex(id))).toEqual([hex(copies[1]!.id)])
      const later = await entities.pageOfChanges({ after: { updated: begin, addedId: 0 } }, 10)
      const ids = [...written, copies[0]!].map(({ id }) => hex(id))
      expect(later.map(({ id }) => hex(id)).toSorted()).toEqual(ids.toSorted())
    })

    test('changes without an end include those above the floor', async () => {
      const { entities } = bench.shard
      const before = newEntity(1)
      await entities.insert([before], { epoch })
      const after = { updated: await entities.raiseFloor(), addedId: 0 }
      const rows = Array.from({ length: 5 }, (_, i) => newEntity(i + 1))
      for (const row of rows) await entities.insert([row], { epoch })
      const page = await entities.pageOfChanges({ after }, 100)
      expect(page.map(({ id }) => hex(id))).toEqual(rows.map(({ id }) => hex(id)))
      expect((await entities.pageOfChanges({ after: FIRST }, 1_000)).map(({ id }) => hex(id))).toContain(
        hex(before.id),
      )
      expect(await entities.pageOfChanges({ after }, 2)).toEqual(page.slice(0, 2))
      const of = { count: 3, some: [page[3]!.addedId % 3] }
      expect(await entities.pageOfChanges({ after, of }, 100)).toEqual(
        page.filter(({ addedId }) => of.some.includes(addedId % 3)),
      )
    })

    test('hundreds of copies are written in one call, with bodies of all lengths', async () => {
      const rows = Array.from({ length: 500 }, (_, i) =>
        newEntity(i + 1, i % 7 === 0 ? null : randomBytes(1 + ((i * 37) % 900))),
      )
      const [first, second, third] = rows
      const long = [
        { ...first!, body: randomBytes(70_000) },
        { ...second!, body: randomBytes(300_000) },
      ]
      await expectStored([...long, ...rows.slice(2)], await receive([...long, ...rows.slice(2)]))
      const again = [{ ...third!, version: 99, body: randomBytes(9 * 2 ** 20) }]
      await expectStored(again, await receive(again))
      await expectStored(rows, await receive(rows.toReversed()))
      await bench.shard.entities.receive([], { epoch: 99, updated: 0 })
    })

    test('copies of the same rows in different orders wait for each other', async () => {
      const rows = Array.from({ length: 30 }, () => newEntity(1))
      const { floor } = await bench.shard.entities.floor()
      const codes = await Promise.all(
        Array.from({ length: 8 }, (_, i) => {
          const { entities } = i % 2 === 0 ? bench.shard : bench.other
          const some = [...rows.slice(i), ...rows.slice(0, i)]
          return codeOf(entities.receive(i % 3 === 0 ? some.toReversed() : some, { epoch, updated: floor }))
        }),
      )
      expect(new Set(codes)).toEqual(new Set(['no error']))
      await expectStored(rows, floor)
    })

    test('a copy may have a version below the bound of purged tombstones', async () => {
      const { entities } = bench.shard
      await entities.raisePurged({ updated: 1, version: 1_000 }, { epoch })
      const row = newEntity(10)
      expect(await codeOf(entities.insert([row], { epoch }))).toBe('STALE_EPOCH')
      await expectStored([row], await receive([row]))
    })

    test('rows are discarded by id, entities and tombstones, and no others', async () => {
      const { entities } = bench.shard
      const rows = Array.from({ length: 300 }, (_, i) => newEntity(i + 1, i % 3 === 0 ? null : undefined))
      await receive(rows)
      const ids = rows.map(({ id }) => id)
      expect(await codeOf(entities.discard(ids, { epoch: epoch + 1 }))).toBe('STALE_EPOCH')
      expect(await codeOf(entities.discard([newId()], { epoch: epoch + 1 }))).toBe('STALE_EPOCH')
      expect(await entities.readVersions(ids)).toEqual(rows.map(({ version }) => version))
      expect(await entities.discard([newId(), ids[0]!, ids[1]!], { epoch })).toBe(2)
      expect(await entities.discard(ids.slice(0, 2), { epoch })).toBe(0)
      expect(await entities.discard(ids.slice(0, 299), { epoch })).toBe(297)
      expect((await entities.readVersions(ids)).filter((version) => version !== undefined)).toEqual([300])
      expect(await entities.discard([], { epoch: 99 })).toBe(0)
    })

    test('a discarded id can be inserted and copied again', async () => {
      const { entities } = bench.shard
      const [row, other] = [newEntity(2_000), newEntity(2_000)]
      await receive([row, other])
      await entities.discard([row.id, other.id], { epoch })
      await entities.insert([{ ...row, version: 2_001 }], { epoch })
      await receive([other])
      expect(await entities.readVersions([row.id, other.id])).toEqual([2_001, 2_000])
    })

    async function addedIdOf(id: Uint8Array): Promise<number> {
      const [row] = await bench.shard.entities.checksums([id])
      return row!.addedId
    }
  })

  describe('checksums', () => {
    const bench = withBench(parts)

    test('pages of checksums have the rows of pages of changes, with the CRC-32 of each body', async () => {
      const { entities } = bench.shard
      const bodies = [
        Buffer.from([0]),
        Buffer.from('\';\\"--`?\n'),
        Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
        null,
        randomBytes(70_000),
        randomBytes(9 * 2 ** 20),
      ]
      for (const body of bodies) await entities.insert([newEntity(7, body)], { epoch })
      const until = await entities.raiseFloor()
      await entities.insert([newEntity(1), newEntity(2, null)], { epoch })
      const of = { count: 2, some: [1] }
      for (const range of [{ after: FIRST }, { after: FIRST, until }, { after: FIRST, until, of }]) {
        const expected = (await entities.pageOfChanges(range, 100)).map(sumOf)
        expect((await entities.pageOfChecksums(range, 100)).map(plain)).toEqual(expected)
        expect((await entities.pageOfChecksums(range, 3)).map(plain)).toEqual(expected.slice(0, 3))
      }
      const all = await entities.pageOfChecksums({ after: FIRST }, 100)
      expect(all).toHaveLength(8)
      expect((await entities.pageOfChecksums({ after: all[4]! }, 100)).map(plain)).toEqual(
        all.slice(5).map(plain),
      )
    })

    test('checksums by id come in the order of the ids, undefined for a missing one, and ids may repeat', async () => {
      const { entities } = bench.shard
      const page = (await entities.pageOfChecksums({ after: FIRST }, 100)).map(plain)
      const [a, b] = page.toReversed()
      const ids = [b!, a!].map(({ id }) => Buffer.from(id!, 'hex'))
      const found = await entities.checksums([ids[0]!, newId(), ids[1]!, ids[0]!])
      expect(found.map((row) => row && plain(row))).toEqual([b, undefined, a, b])
      expect(await entities.checksums([])).toEqual([])
    })
  })
}

/** Returns the checksum that the page of a row would have, with its id as text. */
function sumOf({ body, ...row }: EntityPageRow): object {
  return plain({ ...row, checksum: body === null ? 0 : crc32(body as Buffer) })
}

const plain = (row: EntityChecksum): Omit<EntityChecksum, 'id'> & { id: string | undefined } => ({
  ...row,
  id: hex(row.id),
})
