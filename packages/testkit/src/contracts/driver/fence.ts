import type { EntityInsert, PendingRow } from '@looseleaf/core/internal'
import { expect } from 'expect'
import { catalogOf, codeOf, newEntity, testTogether, withBench, type ContractParts } from './harness.ts'

export function fenceContract(parts: ContractParts): void {
  const { test } = parts.runner
  const bench = withBench(parts)
  const countPending = async (): Promise<number> =>
    (await bench.shard.pending.page({ limit: 100_000 })).length
  const raise = async (): Promise<number> => {
    const { epoch } = (await bench.shard.catalog.load()) as { epoch: number }
    expect(await bench.shard.catalog.change(catalogOf(epoch + 1), epoch)).toBe(true)
    return epoch + 1
  }

  test('a write with another epoch is STALE_EPOCH, and changes nothing', async () => {
    const { epoch } = (await bench.shard.catalog.load()) as { epoch: number }
    const entities = [newEntity(1), newEntity(1)]
    const ids = entities.map(({ id }) => id)
    for (const wrong of [epoch - 1, epoch + 1]) {
      expect(await codeOf(bench.shard.entities.insert(entities, { epoch: wrong }))).toBe('STALE_EPOCH')
      expect(await codeOf(bench.shard.entities.insert(entities.slice(1), { epoch: wrong }))).toBe(
        'STALE_EPOCH',
      )
    }
    expect(await bench.shard.entities.readVersions(ids)).toEqual([undefined, undefined])
    await bench.shard.entities.insert(entities, { epoch })
    const next = await raise()
    const replaced = entities.map((entity) => ({ ...entity, base: 1, version: 2 }))
    expect(await codeOf(bench.shard.entities.replace(replaced, { epoch }))).toBe('STALE_EPOCH')
    expect(await codeOf(bench.shard.entities.replace(replaced.slice(1), { epoch }))).toBe('STALE_EPOCH')
    expect(await bench.shard.entities.readVersions(ids)).toEqual([1, 1])
    expect(await bench.shard.entities.replace(replaced, { epoch: next })).toEqual([true, true])
  })

  for (const together of [false, true]) {
    const name = `no write with the old epoch commits after the catalog has changed${together ? ', nor one of another process' : ''}`
    const run = async (): Promise<void> => {
      const shard = together ? bench.other : bench.shard
      const { epoch } = (await bench.shard.catalog.load()) as { epoch: number }
      const entity = newEntity(1)
      await shard.entities.insert([entity], { epoch })
      let writing = true
      const outcomes: string[] = []
      const { entities } = shard
      const rows = [newEntity(1), newEntity(1)]
      const insert = () => entities.insert([newEntity(1), newEntity(1)], { epoch })
      const replace = async (by: number): Promise<unknown> => {
        const [base] = (await entities.readVersions([entity.id])) as [number]
        return entities.replace([{ ...entity, base, version: base + by }], { epoch })
      }
      const writes: readonly (() => Promise<unknown>)[] = [
        insert,
        insert,
        () => entities.receive([newEntity(1), newEntity(1)], { epoch, updated: 0 }),
        async () => {
          outcomes.push(await codeOf(entities.receive(rows, { epoch, updated: 0 })))
          await entities.discard(
            rows.map(({ id }) => id),
            { epoch },
          )
        },
        () => shard.pending.add([pendingOf(newEntity(1))], { epoch }),
        () => replace(5),
        () => replace(6),
      ]
      const writers = writes.map(async (write) => {
        while (writing) outcomes.push(await codeOf(write()))
      })
      await until(() => outcomes.length > 20)
      await raise()
      const [count, pending] = [await bench.shard.entities.count(), await countPending()]
      const versions = await bench.shard.entities.readVersions([entity.id])
      await until(() => outcomes.filter((code) => code === 'STALE_EPOCH').length > 20)
      writing = false
      await Promise.all(writers)
      expect([await bench.shard.entities.count(), await countPending()]).toEqual([count, pending])
      expect(await bench.shard.entities.readVersions([entity.id])).toEqual(versions)
      expect(new Set(outcomes)).toEqual(new Set(['no error', 'STALE_EPOCH']))
    }
    if (together) testTogether(parts, name, run)
    else test(name, run)
  }
}

const pendingOf = ({ id, version }: EntityInsert): PendingRow => ({
  entityId: id,
  table: 'index_a',
  version,
})

/** Waits until the condition is true. The timeout of the test bounds the wait. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}
