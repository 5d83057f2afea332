import type { Shard } from '@looseleaf/core'
import type { IndexTable } from '@looseleaf/core/internal'
import type { RowDataPacket } from 'mysql2'
import { describe, expect, test } from 'vitest'
import { freshBench } from '../../test/bench.ts'

const bench = await freshBench()

const spec = { table: 'ix_flush', columns: [{ name: 'n', type: 'integer' }] } as const

async function shardWithTable(): Promise<{
  shard: Shard
  table: IndexTable
  flushes: () => Promise<number>
}> {
  const { shard } = await bench.migrate()
  await shard.createIndexTable(spec)
  const observer = await bench.observe()
  return {
    shard,
    table: shard.index(spec),
    async flushes() {
      const [rows] = await observer.query<RowDataPacket[]>(
        "SELECT lease_until AS n FROM looseleaf_tasks WHERE name = 'flush'",
      )
      return Number(rows[0]?.['n'] ?? 0)
    },
  }
}

describe('flush', () => {
  test('a flush is a commit with a change, and concurrent calls share one', async () => {
    const { shard, flushes } = await shardWithTable()
    await shard.flush()
    const first = await flushes()
    await shard.flush()
    expect(await flushes()).toBe(first + 1)
    await Promise.all(Array.from({ length: 50 }, () => shard.flush()))
    expect(await flushes()).toBeLessThanOrEqual(first + 1 + 3)
  })

  test('a flush waits for a commit that begins after the call', async () => {
    const { shard, flushes } = await shardWithTable()
    const observer = await bench.observe()
    await shard.flush()
    await observer.query('START TRANSACTION')
    await observer.query("SELECT name FROM looseleaf_tasks WHERE name = 'flush' FOR UPDATE")
    const before = await flushes()
    const early = shard.flush()
    // The first flush is in flight, so it says nothing about rows that are read from now on.
    await expect.poll(async () => (await shard.now()) > 0).toBe(true)
    const late = shard.flush()
    await observer.query('ROLLBACK')
    await Promise.all([early, late])
    expect(await flushes()).toBe(before + 2)
  })
})

describe('an upsert', () => {
  const row = (version: number) => ({ key: [1n], entityId: Buffer.alloc(16, 7), version })

  test('an upsert that changes no row flushes the stamps of others', async () => {
    const { table, flushes } = await shardWithTable()
    await table.upsert([row(5)])
    const before = await flushes()
    await table.upsert([row(5)])
    expect(await flushes()).toBe(before + 1)
    await table.upsert([row(4)])
    expect(await flushes()).toBe(before + 2)
  })

  test('an upsert that changes a row needs no flush', async () => {
    const { table, flushes } = await shardWithTable()
    await table.upsert([row(5)])
    const before = await flushes()
    await table.upsert([row(6)])
    await table.upsert([row(6), { ...row(1), key: [2n] }])
    expect(await flushes()).toBe(before)
  })
})
