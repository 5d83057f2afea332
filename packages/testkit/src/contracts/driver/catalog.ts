import { expect } from 'expect'
import { catalogOf, testTogether, withBench, type ContractParts } from './harness.ts'

export function catalogContract(parts: ContractParts): void {
  const { test } = parts.runner
  const bench = withBench(parts)

  test('the catalog comes back as it was written', async () => {
    expect(await bench.shard.catalog.load()).toEqual(catalogOf(1))
  })

  test('a second init changes nothing', async () => {
    expect(await bench.shard.catalog.init({ ...catalogOf(1), storeId: 'another' })).toBe(false)
    expect((await bench.shard.catalog.load())?.storeId).toBe(catalogOf(1).storeId)
  })

  test('a change from another epoch changes nothing', async () => {
    expect(await bench.shard.catalog.change({ ...catalogOf(9), storeId: 'another' }, 8)).toBe(false)
    expect(await bench.shard.catalog.load()).toEqual(catalogOf(1))
  })

  test('one of several concurrent changes from one epoch wins', async () => {
    const { epoch } = (await bench.shard.catalog.load()) as { epoch: number }
    const changes = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        (i % 2 === 0 ? bench.shard : bench.other).catalog.change(
          { ...catalogOf(epoch + 1), router: `router ${i}` },
          epoch,
        ),
      ),
    )
    expect(changes.filter(Boolean)).toHaveLength(1)
    const router = `router ${changes.indexOf(true)}`
    expect(await bench.shard.catalog.load()).toEqual({ ...catalogOf(epoch + 1), router })
  })

  test('a large catalog comes back whole', async () => {
    const { epoch } = (await bench.shard.catalog.load()) as { epoch: number }
    const large = {
      ...catalogOf(epoch + 1),
      indexes: Array.from({ length: 2_000 }, () => catalogOf(1).indexes).flat(),
    }
    expect(await bench.shard.catalog.change(large, epoch)).toBe(true)
    expect(await bench.shard.catalog.load()).toEqual(large)
  })

  testTogether(parts, 'another process sees a change of the catalog at once', async () => {
    const { epoch } = (await bench.shard.catalog.load()) as { epoch: number }
    await bench.shard.catalog.change(catalogOf(epoch + 1), epoch)
    expect(await bench.other.catalog.load()).toEqual(catalogOf(epoch + 1))
  })
}
