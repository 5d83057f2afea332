import type { Shard } from '@looseleaf/core'
import type { IndexScan, IndexTableSpec } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { cleanUp, epoch, freshBench, newEntity } from '../../test/bench.ts'
import { keepSessions, startSessionPooler } from '../../test/session-pooler.ts'

const bench = await freshBench()

const PREPARE = 0x16
const EXECUTE = 0x17

test('a read is prepared once per connection', async () => {
  await bench.migrate()
  const { proxy, url } = await bench.behindProxy()
  const { shard } = await bench.connect({ poolSize: 1 }, url)
  const entity = newEntity()
  await shard.entities.insert([entity], { epoch })
  const commands: (number | undefined)[] = []
  proxy.rewrite = (bytes) => {
    commands.push(bytes[4])
    return bytes
  }
  for (let i = 0; i < 3; i++) expect(await shard.entities.read([entity.id])).toMatchObject([entity])
  expect(commands.filter((command) => command === PREPARE)).toHaveLength(1)
  expect(commands.filter((command) => command === EXECUTE)).toHaveLength(3)
})

test('a scan is prepared at its eighth use, alone and in a union', async () => {
  await bench.migrate()
  const { proxy, url } = await bench.behindProxy()
  const { shard } = await bench.connect({ poolSize: 1 }, url)
  const spec = { table: 'ix_scanned', columns: [{ name: 'n', type: 'integer' }] } as const
  await shard.createIndexTable(spec)
  const row = { key: [7n], version: 1, entityId: newEntity().id }
  await shard.index(spec).upsert([row])
  const scan = { prefix: [], order: 'asc', limit: 9 } as const
  for (const batch of [[scan], [scan, scan, scan]]) {
    const commands: (number | undefined)[] = []
    proxy.rewrite = (bytes) => {
      commands.push(bytes[4])
      return bytes
    }
    for (let i = 0; i < 10; i++)
      expect(await shard.index(spec).scanMany(batch)).toEqual(batch.map(() => [row]))
    expect(commands.filter((command) => command === PREPARE)).toHaveLength(1)
    expect(commands.filter((command) => command === EXECUTE)).toHaveLength(3)
  }
})

test('prepared statements work after their tables are altered or created again', async () => {
  const { shard } = await bench.migrate({ poolSize: 1 })
  const observer = await bench.observe()
  const spec = { table: 'ix_prepared', columns: [{ name: 'n', type: 'integer' }] } as const
  await shard.createIndexTable(spec)
  const row = { key: [7n], version: 1, entityId: newEntity().id }
  const write = async (): Promise<void> => {
    const entity = newEntity()
    await shard.entities.insert([entity], { epoch })
    expect(await shard.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch })).toEqual([true])
    expect(await shard.entities.read([entity.id])).toMatchObject([{ ...entity, version: 2 }])
    await shard.index(spec).upsert([row])
    const scan = { prefix: [], order: 'asc', limit: 9 } as const
    for (let use = 0; use < 9; use++) expect(await shard.index(spec).scan(scan)).toEqual([row])
  }
  await write()
  await observer.query('ALTER TABLE entities ADD COLUMN more INT NULL FIRST')
  await observer.query('ALTER TABLE ix_prepared ADD COLUMN more INT NULL FIRST')
  await write()
  await shard.dropIndexTable(spec)
  await shard.createIndexTable(spec)
  await write()
  await observer.query('ALTER TABLE entities DROP COLUMN more')
})

test('a prepared statement in a session without it reads nothing, and its connection is closed', async () => {
  await bench.migrate()
  const pooler = await startSessionPooler(bench.url, { sessions: 2 })
  cleanUp(() => pooler.close())
  const { shard } = await bench.connect({ poolSize: 1 }, pooler.url)
  const entity = newEntity()
  await shard.entities.insert([entity], { epoch })
  expect(await shard.entities.read([entity.id])).toMatchObject([entity])
  pooler.route = (command) => keepSessions(command) + 1
  await expect(shard.entities.read([entity.id])).rejects.toMatchObject({
    code: 'STATEMENT_FAILED',
    unknownOutcome: false,
    message: expect.stringMatching(/does not know a statement that was prepared.*keep one session/),
  })
  pooler.route = keepSessions
  expect(await shard.entities.read([entity.id])).toMatchObject([entity])
})

test('a prepared statement reads and writes nothing in a session with another statement under its number', async () => {
  const { shard: direct } = await bench.migrate()
  const [own, other, full, empty] = ['ix_own', 'ix_other', 'ix_full', 'ix_empty'].map(
    (table): IndexTableSpec => ({ table, columns: [{ name: 'n', type: 'integer' }] }),
  ) as [IndexTableSpec, IndexTableSpec, IndexTableSpec, IndexTableSpec]
  const keys: IndexTableSpec = { ...full, table: 'ix_keys', unique: true }
  /** Returns a function that sends scans until they are prepared. */
  const scans =
    (table: IndexTableSpec, batch: readonly IndexScan[]) =>
    async (shard: Shard): Promise<unknown> => {
      for (let use = 1; use < 8; use++) await shard.index(table).scanMany(batch)
      return shard.index(table).scanMany(batch)
    }
  const row = (n: bigint) => ({ key: [n], version: 1, entityId: newEntity().id })
  const tombstone = { ...newEntity(), body: null }
  await direct.entities.insert([tombstone, newEntity()], { epoch })
  for (const spec of [own, other, full, empty, keys]) await direct.createIndexTable(spec)
  await direct.index(full).upsert([row(2n)])
  const { id } = tombstone
  const scan = { prefix: [], order: 'asc', limit: 9 } as const
  const found = { ...scan, prefix: [2n] }
  const bounded = { ...scan, lower: { value: 1n, inclusive: true }, upper: { value: 3n, inclusive: true } }
  const nothing = { ...scan, prefix: [9n] }
  const missing = newEntity().id
  const pairs: ((shard: Shard) => Promise<unknown>)[][] = [
    [({ entities }) => entities.exist([id]), ({ entities }) => entities.read([id])],
    [({ entities }) => entities.read([id]), ({ entities }) => entities.exist([missing])],
    // These have other numbers of parameters.
    [({ entities }) => entities.readBounded([id, missing], 1_000), ({ entities }) => entities.exist([id])],
    [({ entities }) => entities.read([missing]), ({ entities }) => entities.readVersions([id, missing])],
    [(shard) => shard.index(own).upsert([row(1n)]), (shard) => shard.index(other).upsert([row(2n)])],
    // The first index has a row, and the second has none.
    ...[scan, found, bounded].flatMap((batch) => [
      [scans(empty, [batch]), scans(full, [batch])],
      [scans(full, [batch]), scans(empty, [batch])],
      [scans(empty, [batch, batch]), scans(full, [batch, batch])],
    ]),
    [scans(empty, [nothing, found]), scans(full, [nothing, found])],
    [scans(keys, [found]), scans(full, [found])],
    [scans(full, [found]), scans(keys, [found])],
    [(shard) => shard.entities.insert([newEntity()], { epoch }), (shard) => shard.entities.read([id])],
  ]
  for (const calls of pairs) {
    const pooler = await startSessionPooler(bench.url, { sessions: 2 })
    cleanUp(() => pooler.close())
    const shards: Shard[] = []
    for (const call of calls) {
      const { shard } = await bench.connect({ poolSize: 1 }, pooler.url)
      await call(shard)
      shards.push(shard)
    }
    const before = await direct.entities.count()
    pooler.route = (command) => keepSessions(command) + 1
    await expect(calls[0]!(shards[0]!)).rejects.toMatchObject({
      code: 'STATEMENT_FAILED',
      unknownOutcome: false,
      message: expect.stringMatching(/not the one that was set up for this connection/),
    })
    expect(await direct.entities.count()).toEqual(before)
  }
  expect(await direct.index(own).count({ prefix: [] })).toBe(1)
  expect(await direct.index(other).count({ prefix: [] })).toBe(1)
})
