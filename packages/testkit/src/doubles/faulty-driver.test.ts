import { LooseleafError, type Driver, type Shard } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { catalogOf, firstShard, newEntity } from '../contracts/driver/harness.ts'
import { faultyDriver, unknownOutcome, type FaultPlan } from './faulty-driver.ts'

const epoch = 1

async function prepare(
  plan: FaultPlan,
): Promise<{ real: Shard; shard: Shard; driver: ReturnType<typeof faultyDriver> }> {
  const reference: Driver = createReferenceDriver({ shards: 1 })
  const real = firstShard(reference)
  await real.createTables()
  await real.catalog.init(catalogOf(epoch))
  const driver = faultyDriver(reference, plan)
  return { real, shard: firstShard(driver), driver }
}

test('a call without a fault reaches the driver', async () => {
  const { shard } = await prepare(() => undefined)
  const entity = newEntity(4)
  await shard.entities.insert([entity], { epoch })
  expect(await shard.entities.readVersions([entity.id])).toEqual([4])
})

test('a fault `before` prevents the call', async () => {
  const { real, shard } = await prepare(({ operation, number }) =>
    operation === 'insert' && number === 2
      ? {
          before: () => {
            throw new LooseleafError('SHARD_UNAVAILABLE', 'down')
          },
        }
      : undefined,
  )
  const [first, second] = [newEntity(), newEntity()]
  await shard.entities.insert([first], { epoch })
  await expect(shard.entities.insert([second], { epoch })).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
  })
  expect(await real.entities.readVersions([first.id, second.id])).toEqual([1, undefined])
})

test('a fault `after` fails a call that was made', async () => {
  const { real, shard } = await prepare(({ table, operation }) =>
    table === 'entities' && operation === 'insert'
      ? {
          after: () => {
            throw unknownOutcome()
          },
        }
      : undefined,
  )
  const entity = newEntity()
  await expect(shard.entities.insert([entity], { epoch })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  expect(await real.entities.readVersions([entity.id])).toEqual([1])
})

test('a `late` call rejects with an unknown outcome at once, and is made later', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { real, shard, driver } = await prepare(({ operation }) =>
    operation === 'insert' ? { late: promise } : undefined,
  )
  const entity = newEntity()
  await expect(shard.entities.insert([entity], { epoch })).rejects.toMatchObject({ unknownOutcome: true })
  expect(await real.entities.readVersions([entity.id])).toEqual([undefined])
  resolve()
  await driver.settled()
  expect(await real.entities.readVersions([entity.id])).toEqual([1])
})

test('no call settles after a crash', async () => {
  const { real, shard, driver } = await prepare(({ operation }) =>
    operation === 'insert' ? { crash: 'after' } : undefined,
  )
  const entity = newEntity()
  let settled = 0
  const count = (): void => void settled++
  shard.entities.insert([entity], { epoch }).then(count, count)
  await driver.crashed
  shard.entities.read([entity.id]).then(count, count)
  shard.now().then(count, count)
  expect(await real.entities.readVersions([entity.id])).toEqual([1])
  await new Promise((resolve) => setImmediate(resolve))
  expect(settled).toBe(0)
})

test('a plan gets index tables by their names', async () => {
  const seen: string[] = []
  const { shard } = await prepare(({ shard: number, table, operation }) => {
    seen.push(`${number} ${table} ${operation}`)
    return undefined
  })
  const spec = { table: 'ix_one', columns: [{ name: 'n', type: 'integer' }] } as const
  await shard.createIndexTable(spec)
  await shard.index(spec).count({ prefix: [] })
  expect(seen).toEqual(['0 shard createIndexTable', '0 ix_one count'])
  expect(shard.index(spec)).toBe(shard.index(spec))
})

test('a plan gets tables of claims by their names, and can fail their calls', async () => {
  const spec = { table: 'ix_claims', columns: [{ name: 'n', type: 'integer' }], unique: true } as const
  const row = { key: [1n], entityId: Buffer.alloc(16, 1), version: 1 }
  const { shard } = await prepare(({ table, operation, number }) =>
    table === 'ix_claims' && operation === 'take' && number === 1
      ? {
          after() {
            throw unknownOutcome()
          },
        }
      : undefined,
  )
  await shard.createIndexTable(spec)
  await expect(shard.claims(spec).take([row])).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  expect(await shard.index(spec).scan({ prefix: [], order: 'asc', limit: 9 })).toEqual([row])
  expect(shard.claims(spec)).toBe(shard.claims(spec))
})
