import type { Shard } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { movedEntities, movedOrUndone, type SeenEntity } from './on-disk.ts'

const idOf = (n: number): Uint8Array => Buffer.alloc(16, n)
const seen = (n: number, version: number): SeenEntity => ({ id: idOf(n), version })

/** A store of two shards, by whose numbers the ids of entities are even or odd. Its entities have these versions. */
function storeOf(versions: readonly (number | undefined)[]) {
  const calls: string[] = []
  const shardOf = (number: number): Shard =>
    ({
      name: `shard ${number}`,
      entities: {
        async readVersions(ids: readonly Uint8Array[], options: unknown) {
          calls.push(`versions ${number}`)
          expect(options).toEqual({ signal })
          return ids.map((id) => versions[id[0]!])
        },
      },
      async flush(options: unknown) {
        await Promise.resolve()
        calls.push(`flush ${number}`)
        expect(options).toEqual({ signal })
      },
    }) as unknown as Shard
  const catalog = { placement: { isServed: () => true, shardOfId: (id: Uint8Array) => id[0]! % 2 } }
  const context = {
    router: {},
    driver: { shards: [shardOf(0), shardOf(1)] },
    catalog: { current: () => catalog },
  } as unknown as EngineContext
  return { context, calls }
}

const { signal } = new AbortController()

test('an entity has moved if its version is another one, and not if it is still absent', async () => {
  const { context, calls } = storeOf([7, undefined, undefined, 5, 9])
  const entities = [seen(0, 7), seen(1, 0), seen(2, 3), seen(3, 0), seen(4, 8)]
  const moved = await movedEntities(context, entities, { signal })
  expect(moved.toSorted((a, b) => a.id[0]! - b.id[0]!)).toEqual([entities[2], entities[3], entities[4]])
  expect(calls.toSorted()).toEqual(['versions 0', 'versions 1'])
})

test('versions are read again after a flush of their shard', async () => {
  const { context, calls } = storeOf([7, 5])
  const entities = [seen(1, 4)]
  expect(await movedOrUndone(context, entities, { signal })).toEqual(entities)
  expect(calls).toEqual(['flush 1', 'versions 1'])
})

test('versions may be read by statements that other calls share', async () => {
  const { context, calls } = storeOf([])
  const readVersions = async (shard: Shard, ids: readonly Uint8Array[], options: unknown) => {
    expect(options).toEqual({ signal })
    calls.push(`shared ${shard.name}`)
    return ids.map(() => 6)
  }
  const entities = [seen(1, 6), seen(3, 5)]
  expect(await movedOrUndone(context, entities, { signal, readVersions })).toEqual([entities[1]])
  expect(calls).toEqual(['flush 1', 'shared shard 1'])
})

/** A store of two shards, in which the bucket of all entities moves from shard 1 to shard 0 while their versions are read. */
function movingStore() {
  const { context, calls } = storeOf([7, 7, 7])
  const catalogAt = (owner: number): object => ({
    epochs: [owner, owner],
    placement: { isServed: () => true, shardOfId: () => owner },
  })
  let known = catalogAt(1)
  const shards = context.driver.shards.map((shard, number) => ({
    ...shard,
    entities: { ...shard.entities, floor: async () => (calls.push(`look ${number}`), { epoch: 0 }) },
  }))
  const moving = {
    router: { buckets: {} },
    time: leapingTime(),
    events: { detached: <T>(work: () => T): T => work() },
    driver: { shards },
    catalog: { current: () => known, reloadShard: async () => (known = catalogAt(0)) },
  } as unknown as EngineContext
  return { context: moving, calls }
}

test('versions of a shard that no longer owns the entities are read again at the owner', async () => {
  const { context, calls } = movingStore()
  const entities = [seen(1, 6), seen(2, 7)]
  expect(await movedEntities(context, entities, { signal })).toEqual([entities[0]])
  expect(calls.filter((call) => !call.startsWith('look'))).toEqual(['versions 1', 'versions 0'])
})

test('statements that other calls share ask the owners themselves', async () => {
  const { context, calls } = movingStore()
  const readVersions = async (): Promise<number[]> => [7]
  expect(await movedEntities(context, [seen(1, 7)], { signal, readVersions })).toEqual([])
  expect(calls).toEqual([])
})
