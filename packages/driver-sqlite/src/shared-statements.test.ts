import { randomBytes } from 'node:crypto'
import { createLane, type EntityInsert } from '@looseleaf/core/internal'
import { initShard } from '@looseleaf-tooling/kit/catalogs'
import { expect, test } from 'vitest'
import { memoryShards } from './memory-shards.ts'

test('concurrent calls share statements of many rows', async () => {
  const driver = await memoryShards().connect()
  const shard = driver.shards[0]!
  await initShard(shard)
  const { entities } = shard
  const limits = { maxBatch: 200, maxQueue: 1_000 }
  const inserts = createLane({
    name: 'inserts',
    ...limits,
    run: async (rows: readonly EntityInsert[]) => {
      await entities.insert(rows, { epoch: 1 })
      return rows.map(() => undefined)
    },
  })
  const reads = createLane({
    name: 'reads',
    ...limits,
    run: (ids: readonly Uint8Array[]) => entities.read(ids),
  })

  const CALLERS = 64
  const ROUNDS = 10
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const id = randomBytes(16)
        await inserts.submit({ id, version: 1, body: randomBytes(10) })
        expect((await reads.submit(id))?.version).toBe(1)
      }
    }),
  )
  // The first row goes out at once and alone; the others share statements.
  expect(inserts.statements).toBeLessThanOrEqual(2 * ROUNDS)
  expect(reads.statements).toBeLessThanOrEqual(2 * ROUNDS)
  await driver.close()
})
