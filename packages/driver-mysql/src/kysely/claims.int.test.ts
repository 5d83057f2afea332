import type { Shard } from '@looseleaf/core'
import type { ClaimTable, IndexRow } from '@looseleaf/core/internal'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { beforeEach, describe, expect, test } from 'vitest'
import { freshBench } from '../../test/bench.ts'
import { wordsThrough } from '../../test/sent-statements.ts'
import type { TcpProxy } from '../../test/tcp-proxy.ts'

const bench = await freshBench()

const spec = { table: 'ix_claims', columns: [{ name: 'n', type: 'integer' }], unique: true } as const
const [OWN, OTHER] = [Buffer.alloc(16, 7), Buffer.alloc(16, 8)]
const claim = (n: bigint, entityId: Buffer, version: number): IndexRow => ({ key: [n], entityId, version })

let proxy: TcpProxy
let shard: Shard
let claims: ClaimTable
let observer: Connection
/** First words of the statements since the start of a test. */
let sent: string[]

beforeEach(async () => {
  const behind = await bench.behindProxy()
  proxy = behind.proxy
  // One test makes others wait for two seconds.
  shard = (await bench.migrate({ lockWaitSeconds: 30 }, behind.url)).shard
  observer = await bench.observe()
  await shard.dropIndexTable(spec)
  await shard.createIndexTable(spec)
  claims = shard.claims(spec)
  sent = wordsThrough(proxy)
})

async function flushes(): Promise<number> {
  const [rows] = await observer.query<RowDataPacket[]>(
    "SELECT lease_until AS n FROM looseleaf_tasks WHERE name = 'flush'",
  )
  return Number(rows[0]?.['n'] ?? 0)
}

const all = () => shard.index(spec).scan({ prefix: [], order: 'asc', limit: 9 })

describe('a take', () => {
  test.each<[name: string, rows: readonly IndexRow[]]>([
    ['the same stamp', [claim(1n, OWN, 5)]],
    ['a lower stamp', [claim(1n, OWN, 4)]],
    ['a claim of another', [claim(2n, OWN, 9)]],
    ['several that are stored', [claim(2n, OWN, 9), claim(1n, OWN, 5)]],
  ])('a take that changes nothing flushes the commits of others: %s', async (_, rows) => {
    const stored = [claim(1n, OWN, 5), claim(2n, OTHER, 5)]
    await claims.take(stored)
    const before = await flushes()
    expect(await claims.take(rows)).toEqual(
      rows.map(({ key }) => stored.find((each) => each.key[0] === key[0])),
    )
    expect(await flushes()).toBe(before + 1)
  })

  test('a take that changes a claim needs no flush', async () => {
    const before = await flushes()
    await claims.take([claim(1n, OWN, 5)])
    await claims.take([claim(1n, OWN, 6)])
    await claims.take([claim(1n, OWN, 6), claim(2n, OWN, 6)])
    await claims.take([claim(1n, OTHER, 9), claim(2n, OWN, 7)])
    expect(await flushes()).toBe(before)
  })

  test('a take of one key that gets it, or raises its stamp, is one statement', async () => {
    expect(await claims.take([claim(1n, OWN, 5)])).toEqual([claim(1n, OWN, 5)])
    expect(await claims.take([claim(1n, OWN, 6)])).toEqual([claim(1n, OWN, 6)])
    expect(sent).toEqual(['INSERT', 'INSERT'])
  })

  test('a take of several keys reads the claims before its COMMIT', async () => {
    await claims.take([claim(1n, OWN, 5), claim(2n, OWN, 5)])
    // The last SELECT verifies that the COMMIT reached the session of the transaction.
    expect(sent).toEqual(['START', 'INSERT', 'SELECT', 'COMMIT', 'SELECT'])
  })

  test('a take that cannot read its claims takes nothing', async () => {
    proxy.rewrite = (bytes) => {
      if (!bytes.includes('FROM `ix_claims`')) return bytes
      proxy.rewrite = (later) => later
      proxy.cut()
      return Buffer.alloc(0)
    }
    const take = claims.take([claim(1n, OWN, 5), claim(2n, OWN, 5)])
    await expect(take).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', unknownOutcome: false })
    expect(await all()).toEqual([])
  })

  test('a take locks the claims that it left unchanged until they are flushed', async () => {
    await claims.take([claim(1n, OWN, 5), claim(2n, OTHER, 5)])
    await shard.flush()
    const holder = await bench.observe()
    await holder.query('START TRANSACTION')
    await holder.query("SELECT name FROM looseleaf_tasks WHERE name = 'flush' FOR UPDATE")
    sent.length = 0
    const take = claims.take([claim(1n, OWN, 4), claim(2n, OWN, 9)])
    // The increment of the flush is in flight, and waits for the lock.
    await expect.poll(() => sent).toEqual(['START', 'INSERT', 'SELECT', 'INSERT'])
    await observer.query('SET innodb_lock_wait_timeout = 1')
    for (const n of [1, 2])
      await expect(observer.query('DELETE FROM ix_claims WHERE n = ?', [n])).rejects.toMatchObject({
        errno: 1205,
      })
    await holder.query('ROLLBACK')
    expect(await take).toEqual([claim(1n, OWN, 5), claim(2n, OTHER, 5)])
  })
})

test('a swap finds its claim by the key, however few claims its entity has', async () => {
  const strings = { ...spec, table: 'ix_strings', columns: [{ name: 's', type: 'string' }] } as const
  await shard.createIndexTable(strings)
  const rows = Array.from({ length: 400 }, (_, i) => ({
    key: [Buffer.from(`${'x'.repeat(400)}${i}`)],
    entityId: Buffer.alloc(16, i % 250),
    version: 1,
  }))
  await shard.claims(strings).take(rows)
  await observer.query('ANALYZE TABLE ix_strings')
  let update = ''
  proxy.rewrite = (bytes) => {
    // MySQL sends query attributes in front of the text.
    const start = bytes.indexOf('UPDATE')
    if (start >= 0) update = bytes.toString('latin1', start)
    return bytes
  }
  const first = rows[0]!
  expect(await shard.claims(strings).swap({ ...first, version: 9 }, { ...first, version: 10 })).toBe(false)
  const [plan] = await observer.query<RowDataPacket[]>(`EXPLAIN FORMAT=TRADITIONAL ${update}`)
  // By the other key a swap would lock rows in another order than a take, and one of the two would be rolled back.
  expect(plan).toMatchObject([{ key: 'PRIMARY' }])
})
