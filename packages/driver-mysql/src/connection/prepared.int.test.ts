import type { Shard } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { cleanUp, epoch, freshBench, newEntity } from '../../test/bench.ts'
import { keepSessions, startSessionPooler } from '../../test/session-pooler.ts'

const bench = await freshBench()

const PREPARE = 0x16
const EXECUTE = 0x17

test('a read is prepared once for a connection, and read again and again', async () => {
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

test('what was prepared goes on when its tables are changed or made anew', async () => {
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
    expect(await shard.index(spec).scan({ prefix: [], order: 'asc', limit: 9 })).toEqual([row])
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

test('a statement that comes to a session that has not prepared it reads nothing, and the connection is not used again', async () => {
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

test('in a session that has another statement under its number, nothing is read and nothing is written', async () => {
  const { shard: direct } = await bench.migrate()
  const specs = ['ix_own', 'ix_other'].map(
    (table) => ({ table, columns: [{ name: 'n', type: 'integer' }] }) as const,
  )
  for (const spec of specs) await direct.createIndexTable(spec)
  const [own, other] = specs as [(typeof specs)[0], (typeof specs)[0]]
  const row = (n: bigint) => ({ key: [n], version: 1, entityId: newEntity().id })
  const tombstone = { ...newEntity(), body: null }
  await direct.entities.insert([tombstone, newEntity()], { epoch })
  await direct.index(other).upsert([row(2n)])
  const { id } = tombstone
  const scan = { prefix: [], order: 'asc', limit: 9 } as const
  const missing = newEntity().id
  const pairs: ((shard: Shard) => Promise<unknown>)[][] = [
    [({ entities }) => entities.exist([id]), ({ entities }) => entities.read([id])],
    [({ entities }) => entities.read([id]), ({ entities }) => entities.exist([missing])],
    // Of other numbers of parameters.
    [({ entities }) => entities.readBounded([id, missing], 1_000), ({ entities }) => entities.exist([id])],
    [({ entities }) => entities.read([missing]), ({ entities }) => entities.readVersions([id, missing])],
    [(shard) => shard.index(own).upsert([row(1n)]), (shard) => shard.index(other).upsert([row(2n)])],
    // The one finds nothing, and the other has a row.
    [(shard) => shard.index(own).scan(scan), (shard) => shard.index(other).scan(scan)],
    [
      (shard) => shard.index(own).scanMany([scan, scan]),
      (shard) => shard.index(other).scanMany([scan, scan]),
    ],
    [(shard) => shard.index(other).scan(scan), (shard) => shard.index(own).scan(scan)],
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
  expect(await direct.index(other).count({ prefix: [] })).toBe(2)
})
