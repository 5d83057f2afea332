import type { Shard } from '@looseleaf/core'
import {
  MAX_SNAPSHOTS,
  type IndexRow,
  type IndexTable,
  type IndexTableSpec,
  type ShardSnapshot,
} from '@looseleaf/core/internal'
import { expect } from 'expect'
import { codeOf, freshTable, newEntity, newId, newName, withBench, type ContractParts } from './harness.ts'

/** Long enough for a test on a busy machine. */
const LONG_MS = 60_000

const spec = (): IndexTableSpec => ({ table: newName('ix'), columns: [{ name: 'n', type: 'integer' }] })

export function snapshotContract(parts: ContractParts): void {
  const { test } = parts.runner
  const bench = withBench(parts)
  if (parts.options.singleConnectionReason !== undefined) {
    test('a shard without snapshots lacks the method', async () => {
      expect(bench.shard.snapshot).toBeUndefined()
    })
    return
  }

  const open = (shard: Shard = bench.shard, maxMs = LONG_MS): Promise<ShardSnapshot> =>
    shard.snapshot!({ maxMs })

  /** Creates an index table with a row of one entity under the key 1, and returns a function that moves it. */
  async function movingRow(): Promise<{
    readonly table: IndexTableSpec
    readonly move: (from: bigint, to: bigint, version: number) => Promise<void>
    readonly keysIn: (index: Pick<IndexTable, 'scan'>, n?: bigint) => Promise<readonly unknown[]>
  }> {
    const table = spec()
    const index = await freshTable(bench.shard, table)
    const entityId = newId()
    await index.upsert([{ key: [1n], entityId, version: 1 }])
    const other = bench.other.index(table)
    return {
      table,
      async move(from, to, version) {
        await other.upsert([{ key: [to], entityId, version }])
        await other.remove([{ key: [from], entityId, before: version }])
      },
      async keysIn(within, n) {
        const prefix = n === undefined ? [] : [n]
        return (await within.scan({ prefix, order: 'asc', limit: 10 })).map(({ key }) => key[0])
      },
    }
  }

  test('every read of a snapshot sees the rows of the moment at which it was opened', async () => {
    const { table, move, keysIn } = await movingRow()
    const snapshot = await open()
    await move(1n, 2n, 2)
    const index = snapshot.index(table)
    expect(await keysIn(index)).toEqual([1n])
    await move(2n, 3n, 3)
    expect(await keysIn(index, 1n)).toEqual([1n])
    expect(await keysIn(index, 3n)).toEqual([])
    expect(await index.count({ prefix: [] })).toBe(1)
    expect(await index.countMany([{ prefix: [1n] }, { prefix: [3n] }])).toEqual([1, 0])
    const many = await index.scanMany(
      [1n, 2n, 3n].map((n) => ({ prefix: [n], order: 'asc' as const, limit: 5 })),
    )
    expect(many.map((rows) => rows.length)).toEqual([1, 0, 0])
    await snapshot.close()
    expect(await keysIn(bench.shard.index(table))).toEqual([3n])
  })

  test('every read of a snapshot sees the entities of the moment at which it was opened', async () => {
    const entity = newEntity(1)
    await bench.shard.entities.insert([entity], { epoch: 1 })
    const snapshot = await open()
    await bench.other.entities.replace([{ ...entity, base: 1, version: 2, body: null }], { epoch: 1 })
    const later = newEntity(1)
    await bench.other.entities.insert([later], { epoch: 1 })
    const ids = [entity.id, later.id]
    expect(await snapshot.entities.readVersions(ids)).toEqual([1, undefined])
    expect((await snapshot.entities.read(ids)).map((row) => row?.version)).toEqual([1, undefined])
    expect((await snapshot.entities.readBounded(ids, 1)).map((row) => row?.bodyBytes)).toEqual([
      entity.body!.length,
      undefined,
    ])
    await snapshot.close()
    expect(await bench.shard.entities.readVersions(ids)).toEqual([2, 1])
  })

  test('two reads of a snapshot never miss a row that moves between their ranges', async () => {
    const { table, move, keysIn } = await movingRow()
    let hasEnded = false
    const moving = (async () => {
      for (let version = 2; !hasEnded; version++) {
        const [from, to] = version % 2 === 0 ? [1n, 2n] : [2n, 1n]
        await move(from, to, version)
      }
    })()
    const found: number[] = []
    for (let i = 0; i < 40; i++) {
      const snapshot = await open()
      const index = snapshot.index(table)
      const keys = [...(await keysIn(index, 2n)), ...(await keysIn(index, 1n))]
      await snapshot.close()
      found.push(keys.length)
    }
    hasEnded = true
    await moving
    expect(Math.min(...found)).toBeGreaterThan(0)
  })

  test('reads that are sent together through one snapshot get their own answers', async () => {
    const table = spec()
    const index = await freshTable(bench.shard, table)
    const rows = [1n, 2n, 3n, 4n].map((n): IndexRow => ({ key: [n], entityId: newId(), version: 1 }))
    await index.upsert(rows)
    const snapshot = await open()
    const within = snapshot.index(table)
    const found = await Promise.all(
      rows.map(({ key }) => within.scan({ prefix: key, order: 'asc', limit: 5 })),
    )
    expect(found.map((each) => each.map(({ key }) => key[0]))).toEqual([[1n], [2n], [3n], [4n]])
    await snapshot.close()
  })

  test('the shard is read and written while all of its snapshots are open', async () => {
    const snapshots = await Promise.all(Array.from({ length: MAX_SNAPSHOTS }, () => open()))
    const entity = newEntity(1)
    await bench.shard.entities.insert([entity], { epoch: 1 })
    expect(await bench.shard.entities.readVersions([entity.id])).toEqual([1])
    await Promise.all(snapshots.map((snapshot) => snapshot.close()))
  })

  const endings: readonly (readonly [string, (snapshot: ShardSnapshot) => Promise<unknown>])[] = [
    ['is closed', (snapshot) => snapshot.close()],
    ['is closed twice', (snapshot) => Promise.all([snapshot.close(), snapshot.close()])],
    ['has failed', (snapshot) => codeOf(snapshot.index(spec()).count({ prefix: [] }))],
    [
      'has failed and is closed',
      async (snapshot) => {
        await codeOf(snapshot.index(spec()).count({ prefix: [] }))
        await snapshot.close()
      },
    ],
    [
      'is closed while a read is under way',
      async (snapshot) => {
        const read = snapshot.entities.readVersions([newId()])
        await snapshot.close()
        expect(await read).toEqual([undefined])
      },
    ],
  ]
  for (const [name, end] of endings) {
    test(`a snapshot that ${name} gives its connection back`, async () => {
      for (let i = 0; i < 2 * MAX_SNAPSHOTS + 1; i++) await end(await open())
    })
  }

  test('a snapshot whose time is up gives its connection back', async () => {
    for (let round = 0; round < 2; round++)
      await Promise.all(Array.from({ length: MAX_SNAPSHOTS }, () => open(bench.shard, 50)))
    await (await open()).close()
  })

  test('a read after the time of a snapshot rejects with DEADLINE', async () => {
    const snapshot = await open(bench.shard, 1)
    // The next snapshot begins when the time of all of these is up.
    await Promise.all(Array.from({ length: MAX_SNAPSHOTS }, () => open(bench.shard, 20)))
    expect(await codeOf(snapshot.entities.readVersions([newId()]))).toBe('DEADLINE')
    await snapshot.close()
  })

  test('a read of a closed snapshot rejects with CLOSED', async () => {
    const snapshot = await open()
    await snapshot.close()
    expect(await codeOf(snapshot.entities.readVersions([newId()]))).toBe('CLOSED')
  })

  test('a missing index table rejects a read of a snapshot with INDEX_NOT_FOUND, and ends the snapshot', async () => {
    const snapshot = await open()
    expect(await codeOf(snapshot.index(spec()).count({ prefix: [] }))).toBe('INDEX_NOT_FOUND')
    expect(await codeOf(snapshot.entities.readVersions([newId()]))).toBe('INDEX_NOT_FOUND')
    await snapshot.close()
  })

  test('an aborted read of a snapshot leaves the snapshot usable', async () => {
    const snapshot = await open()
    const aborting = new AbortController()
    const read = codeOf(snapshot.entities.readVersions([newId()], { signal: aborting.signal }))
    aborting.abort()
    expect(await read).toBe('ABORTED')
    expect(await snapshot.entities.readVersions([newId()])).toEqual([undefined])
    await snapshot.close()
    expect(await codeOf(bench.shard.snapshot!({ maxMs: LONG_MS, signal: aborting.signal }))).toBe('ABORTED')
  })
}
