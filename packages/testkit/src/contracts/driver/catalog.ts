import { expect } from 'expect'
import { catalogOf, newEntity, testTogether, withBench, type ContractParts } from './harness.ts'

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

  test('a change that needs a floor and copies changes nothing without them', async () => {
    const { catalog, entities } = bench.shard
    const floor = await entities.raiseFloor()
    const [first, second] = [newEntity(1), newEntity(2)]
    await entities.receive([first, second], { epoch: 1, updated: floor })
    const copies = [first, second].map(({ id }) => ({ id, updated: floor }))
    for (const holding of [
      { floor: floor + 1, copies },
      { floor, copies: [...copies, { id: newEntity(1).id, updated: 0 }] },
      { floor, copies: [copies[0]!, { id: second.id, updated: floor + 1 }] },
    ])
      expect(await catalog.change(catalogOf(2), 1, { holding })).toBe(false)
    expect(await catalog.change(catalogOf(2), 9, { holding: { floor, copies } })).toBe(false)
    expect(await catalog.load()).toEqual(catalogOf(1))
    expect(await catalog.change(catalogOf(2), 1, { holding: { floor, copies } })).toBe(true)
    expect(await catalog.change(catalogOf(3), 2, { holding: { floor, copies: [] } })).toBe(true)
    expect(await catalog.load()).toEqual(catalogOf(3))
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
