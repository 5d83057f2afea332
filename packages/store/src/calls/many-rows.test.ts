import { LooseleafError, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { upsertsRows } from '@looseleaf-tooling/kit/row-writes'
import { afterEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'

const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'id' })

/** More rows on one shard than the queue of a lane holds. */
const PUTS = 40
const ROWS = 1000

let store: DataStore
let plan: FaultPlan

async function open(): Promise<DataStore> {
  plan = () => undefined
  const driver = faultyDriver(await memoryShards(1).connect(), (call) => plan(call))
  return (store = await DataStore.open({
    shards: { shardCount: 1, connect: async () => driver },
    indexes: [byTag],
    migrate: true,
    onWarning: () => {},
  }))
}

afterEach(() => store.close())

const tagsOf = (number: number): string[] => Array.from({ length: ROWS }, (_, i) => `${number}/${i}`)

const putAll = (signal?: AbortSignal): Promise<PromiseSettledResult<{ id: EntityId }>[]> =>
  Promise.allSettled(
    Array.from({ length: PUTS }, (_, number) => store.put({ tags: tagsOf(number) }, signal && { signal })),
  )

const codesOf = (results: readonly PromiseSettledResult<unknown>[]): string[] => [
  ...new Set(
    results.map((result) => (result.status === 'fulfilled' ? 'ok' : (result.reason as LooseleafError).code)),
  ),
]

describe('writes of more index rows than the queue of a lane holds', () => {
  it('writes of more rows than a queue holds wait for room, and all are found', async () => {
    await open()
    const results = await putAll()
    expect(codesOf(results)).toEqual(['ok'])
    expect(await store.count(byTag, {}, { scatter: true, exact: true })).toBe(PUTS)
    for (const [number, result] of results.entries()) {
      const [found] = await store.getAll(byTag, { tags: `${number}/999` }, { scatter: true })
      expect(found?.id).toBe(result.status === 'fulfilled' && result.value.id)
    }
    // Deletes of lost rows wait for room too.
    await Promise.all(results.map((result) => result.status === 'fulfilled' && store.delete(result.value.id)))
    await store.settled()
    expect(await store.count(byTag, {}, { scatter: true })).toBe(0)
  }, 60_000)

  it('writes of more rows than a queue holds all fail and write nothing if the shard of the rows is down', async () => {
    await open()
    plan = (call) =>
      upsertsRows(call)
        ? {
            before() {
              throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
            },
          }
        : undefined
    expect(codesOf(await putAll())).toEqual(['SHARD_UNAVAILABLE'])
    plan = () => undefined
    expect((await store.status()).shards[0]).toMatchObject({ entities: 0 })
    expect(codesOf(await putAll())).toEqual(['ok'])
  }, 60_000)

  it('writes that wait for room in a queue end when their signal aborts', async () => {
    await open()
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    plan = (call) => (upsertsRows(call) ? { before: () => held } : undefined)
    const controller = new AbortController()
    const results = putAll(controller.signal)
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    expect(codesOf(await results)).toEqual(['ABORTED'])
    release()
    expect(await store.put({ tags: ['a'] })).toMatchObject({ indexed: true })
  })
})
