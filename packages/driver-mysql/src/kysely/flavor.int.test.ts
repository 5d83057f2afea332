import type { Shard } from '@looseleaf/core'
import type { EntityReplace } from '@looseleaf/core/internal'
import type { RowDataPacket } from 'mysql2'
import { expect, test } from 'vitest'
import { cleanUp, epoch, freshBench, newEntity, threadBusyWith } from '../../test/bench.ts'

const bench = await freshBench()

test('every table has transactions and long keys, under any default of the server', async () => {
  const { shard } = await bench.connect()
  const observer = await bench.observe()
  await observer.query('SET SESSION default_storage_engine = MyISAM')
  const spec = { table: 'ix_engine', columns: [{ name: 'n', type: 'integer' }] } as const
  const statements = shard.schema([spec])
  for (const statement of statements) await observer.query(statement)
  const [tables] = await observer.query<RowDataPacket[]>(
    'SELECT engine AS engine, row_format AS format FROM information_schema.tables WHERE table_schema = DATABASE()',
  )
  expect(tables).toHaveLength(statements.length)
  for (const table of tables) expect(table).toMatchObject({ engine: 'InnoDB', format: 'Dynamic' })
})

test('a column that its server describes with a comment has the type of a column of the store', async () => {
  const { shard } = await bench.migrate()
  const observer = await bench.observe()
  // MySQL has no compressed columns, and takes this for a comment.
  await observer.query('ALTER TABLE entities MODIFY body MEDIUMBLOB /*M!100301 COMPRESSED */')
  cleanUp(() => observer.query('ALTER TABLE entities MODIFY body MEDIUMBLOB'))
  expect(await shard.checkTables!([])).toEqual({ missing: [], foreign: [] })
})

test('long types fit in place of the medium ones', async () => {
  const { shard } = await bench.migrate()
  const observer = await bench.observe()
  const spec = { table: 'ix_long', columns: [{ name: 'n', type: 'integer' }], covering: true } as const
  await shard.createIndexTable(spec)
  for (const column of [
    'entities MODIFY body LONGBLOB',
    'looseleaf_codec MODIFY bytes LONGBLOB NOT NULL',
    'looseleaf_meta MODIFY catalog LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL',
    'ix_long MODIFY included LONGBLOB',
  ])
    await observer.query(`ALTER TABLE ${column}`)
  cleanUp(() => observer.query('ALTER TABLE entities MODIFY body MEDIUMBLOB'))
  expect(await shard.checkTables!([spec])).toEqual({ missing: [], foreign: [] })
  await shard.createIndexTable(spec)

  const entities = [newEntity(), newEntity(), newEntity()]
  await shard.entities.insert(entities, { epoch })
  const body = Buffer.alloc(5_000_000, 'long')
  const swaps = entities.map(({ id, body: baseBody }) => ({ id, base: 1, baseBody, version: 2, body }))
  expect(await shard.entities.replace(swaps, { epoch })).toEqual([true, true, true])
  const found = await shard.entities.read(entities.map(({ id }) => id))
  for (const row of found) expect(body.equals(row!.body!)).toBe(true)

  await observer.query('ALTER TABLE looseleaf_codec MODIFY bytes BLOB NOT NULL')
  cleanUp(() => observer.query('ALTER TABLE looseleaf_codec MODIFY bytes MEDIUMBLOB NOT NULL'))
  expect(await shard.checkTables!([spec])).toMatchObject({ foreign: [{ name: 'looseleaf_codec' }] })
})

type Swaps = readonly [EntityReplace, EntityReplace]

test.each<[name: string, statement: string, act: (shard: Shard, swaps: Swaps) => Promise<unknown>]>([
  ['an insert', 'INSERT INTO `entities`', ({ entities }) => entities.insert([newEntity()], { epoch })],
  ['a swap', 'UPDATE `entities`', ({ entities }, [a]) => entities.replace([a], { epoch })],
  [
    'a swap of several rows',
    'UPDATE `entities` e ',
    ({ entities }, swaps) => entities.replace(swaps, { epoch }),
  ],
  [
    'a call with copies',
    'INSERT INTO `entities`',
    ({ entities }, swaps) => entities.receive(swaps, { epoch, updated: 0 }),
  ],
  ['a discard', 'DELETE `entities`', ({ entities }, [a]) => entities.discard([a.id], { epoch })],
  [
    'an add of pending rows',
    'INSERT INTO `looseleaf_pending`',
    ({ pending }, [a]) => pending.add([{ entityId: a.id, table: 'index_a', version: 1 }], { epoch }),
  ],
])('%s waits for a change of the catalog in flight, and is STALE_EPOCH', async (_, statement, act) => {
  const { shard } = await bench.migrate()
  const [a, b] = [newEntity(), newEntity()]
  await shard.entities.insert([a, b], { epoch })
  const writer = await bench.observe()
  cleanUp(() => writer.query('UPDATE looseleaf_meta SET epoch = ?', [epoch]))
  await writer.query('START TRANSACTION')
  await writer.query('UPDATE looseleaf_meta SET epoch = 2')
  const swaps: Swaps = [
    { ...a, base: 1, version: 2 },
    { ...b, base: 1, version: 2 },
  ]
  const outcome = act(shard, swaps).catch((error: unknown) => error)
  const came = await Promise.race([outcome, threadBusyWith(await bench.observe(), statement)])
  await writer.query('COMMIT')
  expect(await outcome).toMatchObject({ code: 'STALE_EPOCH' })
  expect(came).toBeTypeOf('number')
})
