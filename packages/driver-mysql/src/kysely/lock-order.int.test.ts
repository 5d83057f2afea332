import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Shard } from '@looseleaf/core'
import type { EntityInsert, IndexRow } from '@looseleaf/core/internal'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { beforeEach, expect, test } from 'vitest'
import { cleanUp, epoch, freshBench, newEntity } from '../../test/bench.ts'
import type { TcpProxy } from '../../test/tcp-proxy.ts'
import { until } from '../../test/until.ts'

const bench = await freshBench()

const columns = [{ name: 's', type: 'string' }] as const
const index = { table: 'ix_order', columns } as const
const unique = { table: 'ix_claimed', columns, unique: true } as const
/** Table that a pending row names. */
const deferred = [index.table]

let proxy: TcpProxy
let shard: Shard
let observer: Connection
/** Texts of the statements since the start of a test. */
let sent: string[]

beforeEach(async () => {
  const behind = await bench.behindProxy()
  proxy = behind.proxy
  shard = (await bench.migrate({ lockWaitSeconds: 8 }, behind.url)).shard
  observer = await bench.observe()
  await observer.query('UPDATE looseleaf_meta SET epoch = ?', [epoch])
  for (const spec of [index, unique]) {
    await shard.dropIndexTable(spec)
    await shard.createIndexTable(spec)
  }
  for (const table of ['entities', 'looseleaf_pending', 'looseleaf_tasks'])
    await observer.query(`DELETE FROM ${table}`)
  sent = []
  proxy.rewrite = (bytes) => {
    // MySQL sends query attributes in front of the text.
    for (const text of bytes.toString('latin1').split('; ')) {
      const start = text.search(/UPDATE|DELETE|INSERT/)
      if (start >= 0) sent.push(text.slice(start))
    }
    return bytes
  }
})

/** Inserts rows into all tables, in an order that is not that of any key. */
async function fill(count: number, isSkewed: boolean): Promise<readonly EntityInsert[]> {
  const entities = Array.from({ length: count }, newEntity)
  for (let from = 0; from < count; from += 250) {
    const some = entities.slice(from, from + 250)
    // The driver sorts the rows of a statement, so a small table gets each row by its own statement.
    for (const rows of count < 10 ? some.map((entity) => [entity]) : [some])
      await shard.entities.insert(
        rows.map((row) => ({ ...row, deferred })),
        { epoch },
      )
    const rows = some.map((entity): IndexRow => rowOf(entity, isSkewed))
    await shard.index(index).upsert(rows)
    await shard.claims(unique).take(some.map((entity) => rowOf(entity, false)))
  }
  await shard.tasks.claimAll(
    entities.slice(0, 300).map(({ id }) => nameOf(id)),
    'before',
    1,
  )
  await observer.query('ANALYZE TABLE entities, ix_order, ix_claimed, looseleaf_pending, looseleaf_tasks')
  return entities
}

const nameOf = (id: Uint8Array): string => Buffer.from(id).toString('hex')
const rowOf = ({ id }: EntityInsert, isSkewed: boolean): IndexRow => ({
  key: [isSkewed ? Buffer.from('the same') : Buffer.from(nameOf(id))],
  entityId: id,
  version: 1,
})

/** Returns the plan of a write: the access type and the key. */
async function planOf(statement: string, table: string): Promise<{ way: unknown; key: unknown }> {
  const [, token] = /@looseleaf <=> (x'[0-9a-f]+')/i.exec(statement) ?? []
  if (token !== undefined) await observer.query(`SET @looseleaf = ${token}`)
  const [server] = await observer.query<RowDataPacket[]>('SELECT VERSION() AS version')
  const format = String(server[0]?.['version']).includes('MariaDB') ? '' : 'FORMAT=TRADITIONAL '
  const [plan] = await observer.query<RowDataPacket[]>(`EXPLAIN ${format}${statement}`)
  const alias = table === 'entities' ? 'e' : 'x'
  const row = plan.find((each) => each['table'] === table || each['table'] === alias)
  return { way: row?.['type'], key: row?.['key'] }
}

/** Returns the ids of three entities, or of as many missing ones. */
const threeOf = (entities: readonly EntityInsert[]): readonly EntityInsert[] =>
  Array.from({ length: 3 }, (_, place) => entities[place * Math.ceil(entities.length / 3)] ?? newEntity())

const statements: readonly (readonly [
  name: string,
  table: string,
  key: string,
  send: (some: readonly EntityInsert[], isSkewed: boolean) => Promise<unknown>,
])[] = [
  [
    'a swap of several entities',
    'entities',
    'id',
    (some) =>
      shard.entities.replace(
        some.map((entity) => ({ ...entity, base: 1, version: 2 })),
        { epoch },
      ),
  ],
  [
    // Within a packet the statement is sent as text.
    'a swap of one entity',
    'entities',
    'id',
    ([entity]) => shard.entities.replace([{ ...entity!, base: 1, version: 2, deferred }], { epoch }),
  ],
  ['a purge of tombstones', 'entities', 'id', (some) => shard.entities.purge(some.map(({ id }) => id))],
  [
    'a discard of rows',
    'entities',
    'id',
    (some) =>
      shard.entities.discard(
        some.map(({ id }) => id),
        { epoch },
      ),
  ],
  [
    'a delete of index rows',
    index.table,
    'PRIMARY',
    (some, isSkewed) =>
      shard.index(index).remove(some.map((entity) => ({ ...rowOf(entity, isSkewed), before: 1 }))),
  ],
  [
    // The plan of a row that lost would be empty, so the entities are new and win.
    'a delete of index rows with their entities',
    index.table,
    'PRIMARY',
    async (some, isSkewed) => {
      const entities = some.map(() => newEntity())
      await shard.entities.insert(entities, { epoch })
      const swaps = entities.map((entity) => {
        const remove = [{ spec: index, rows: [rowOf(entity, isSkewed)] }]
        return { ...entity, base: 1, version: 2, local: { remove } }
      })
      await shard.entities.replace(swaps, { epoch })
    },
  ],
  [
    'a swap of a claim',
    unique.table,
    'PRIMARY',
    ([entity]) => shard.claims(unique).swap(rowOf(entity!, false), { entityId: entity!.id, version: 5 }),
  ],
  [
    'a claim of tasks',
    'looseleaf_tasks',
    'PRIMARY',
    (some) =>
      shard.tasks.claimAll(
        some.map(({ id }) => nameOf(id)),
        'somebody',
        1,
      ),
  ],
  [
    'a save of tasks',
    'looseleaf_tasks',
    'PRIMARY',
    (some) => shard.tasks.saveAll(new Map(some.map(({ id }) => [nameOf(id), 'x'])), 'somebody', 1),
  ],
  [
    'a delete of pending rows',
    'looseleaf_pending',
    'PRIMARY',
    (some) => shard.pending.remove(some.map(({ id }) => ({ entityId: id, table: index.table, before: 1 }))),
  ],
]

/** Tables for which the cost-based plan would be another one. */
const sizes = [
  { count: 0, isSkewed: false },
  { count: 1, isSkewed: false },
  { count: 3, isSkewed: true },
  { count: 60, isSkewed: true },
  { count: 2_000, isSkewed: true },
  { count: 2_000, isSkewed: false },
] as const

test.each(sizes)(
  'every statement that locks several rows finds them by a key in tables of $count rows, skewed: $isSkewed',
  async ({ count, isSkewed }) => {
    const some = threeOf(await fill(count, isSkewed))
    for (const [name, table, key, send] of statements) {
      sent = []
      await send(some, isSkewed)
      const statement = sent.find((text) => new RegExp(`^(UPDATE|DELETE).*\`${table}\``, 's').test(text))
      const { way, ...plan } = await planOf(statement ?? '', table)
      expect({ name, ...plan }).toEqual({ name, key })
      expect(['const', 'eq_ref', 'range']).toContain(way)
    }
  },
)

test('a delete of index rows with their entities is one join, whose plan does not grow with the rows', async () => {
  const entities = Array.from({ length: 20 }, newEntity)
  await shard.entities.insert(entities, { epoch })
  sent = []
  await shard.entities.replace(
    entities.map((entity) => ({
      ...entity,
      base: 1,
      version: 2,
      local: { remove: [{ spec: index, rows: [rowOf(entity, false)] }] },
    })),
    { epoch },
  )
  const statement = sent.find((text) => text.startsWith('DELETE')) ?? ''
  const [plan] = await observer.query<RowDataPacket[]>(`EXPLAIN ${statement}`)
  expect(statement).toContain(`\`${index.table}\``)
  expect(plan.filter((each) => String(each['select_type']).includes('SUBQUERY'))).toEqual([])
})

test('pending rows of one statement are in the order of their key', async () => {
  const entities = Array.from({ length: 5 }, newEntity)
  await shard.entities.insert(
    entities.map((entity) => ({ ...entity, deferred: ['ix_b', 'ix_c', 'ix_a'] })),
    { epoch },
  )
  const text = sent.find((each) => each.includes('looseleaf_pending'))?.toLowerCase() ?? ''
  const keys = entities.flatMap(({ id }) =>
    ['ix_a', 'ix_b', 'ix_c'].map((table) => [nameOf(id), nameOf(Buffer.from(table))] as const),
  )
  const rowsInText = [...text.matchAll(/'([0-9a-f]{32})',\s*x?'?([0-9a-z_]+)/g)].map(([, id, table]) => [
    id,
    /^[0-9a-f]+$/.test(table as string) ? table : nameOf(Buffer.from(table as string)),
  ])
  expect(rowsInText).toEqual(keys.toSorted((x, y) => (x.join() < y.join() ? -1 : 1)))
})

test('a batch of swaps on a small table waits for a locked row before it locks a greater id', async () => {
  const starting = (byte: number): EntityInsert => ({
    ...newEntity(),
    id: Buffer.concat([Buffer.of(byte), randomBytes(15)]),
  })
  const [third, first, second] = [starting(3), starting(1), starting(2)]
  const entities = [third, first, second]
  for (const entity of entities) await shard.entities.insert([entity], { epoch })
  await observer.query('START TRANSACTION')
  await observer.query('SELECT version FROM entities WHERE id = ? FOR UPDATE', [second.id])
  const swap = shard.entities.replace(
    entities.map((entity) => ({ ...entity, base: 1, version: 2 })),
    { epoch },
  )
  const looker = await bench.observe()
  const isLocked = async ({ id }: EntityInsert): Promise<boolean> => {
    await looker.query('START TRANSACTION')
    const [rows] = await looker.query<RowDataPacket[]>(
      'SELECT version FROM entities FORCE INDEX (id) WHERE id = ? FOR UPDATE SKIP LOCKED',
      [id],
    )
    await looker.query('ROLLBACK')
    return rows.length === 0
  }
  await until(() => isLocked(first))
  expect(await isLocked(third)).toBe(false)
  await observer.query('ROLLBACK')
  expect(await swap).toEqual([true, true, true])
})

test.each([
  ['copies', (ids: readonly Buffer[]) => shard.entities.receive(rowsTo(ids), { epoch, updated: 0 })],
  ['a discard', (ids: readonly Buffer[]) => shard.entities.discard(ids, { epoch })],
  [
    'an add of pending rows',
    (ids: readonly Buffer[]) =>
      shard.pending.add(
        ids.map((entityId) => ({ entityId, table: index.table, version: 9 })),
        { epoch },
      ),
  ],
])('a change of the catalog waits for %s in flight', async (_, write) => {
  const [low, high] = [1, 2].map((byte) => Buffer.concat([Buffer.of(byte), randomBytes(15)])) as [
    Buffer,
    Buffer,
  ]
  await shard.entities.insert([{ id: high, version: 1, body: Buffer.of(1), deferred }], { epoch })
  await observer.query('START TRANSACTION')
  await observer.query('SELECT version FROM entities WHERE id = ? FOR UPDATE', [high])
  await observer.query('SELECT version FROM looseleaf_pending WHERE entity_id = ? FOR UPDATE', [high])
  const writing = write([low, high])
  const looker = await bench.observe()
  await until(async () => {
    const [rows] = await looker.query<RowDataPacket[]>(
      'SELECT epoch FROM looseleaf_meta WHERE id = 1 FOR UPDATE SKIP LOCKED',
    )
    return rows.length === 0
  })
  const changing = shard.catalog.change(catalogOf({ epoch: epoch + 1 }), epoch)
  // A test that fails before its end leaves no change to the next one.
  cleanUp(async () => {
    await observer.query('ROLLBACK')
    await Promise.allSettled([writing, changing])
  })
  // The answers of the two connections may be read in either order, so the server tells that the change waits.
  await until(async () => {
    // The server renews this table only if nobody has read it for a tenth of a second.
    await sleep(150)
    const [waiting] = await looker.query<RowDataPacket[]>(
      "SELECT trx_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_query LIKE 'UPDATE `looseleaf_meta`%'",
    )
    return waiting.length > 0
  })
  await observer.query('ROLLBACK')
  await Promise.all([writing, changing])
  await expect(write([low])).rejects.toMatchObject({ code: 'STALE_EPOCH' })
})

test('copies wait for a locked row before they lock a greater id', async () => {
  const ids = [3, 1, 2].map((byte) => Buffer.concat([Buffer.of(byte), randomBytes(15)]))
  const rows = rowsTo(ids)
  for (const row of rows) await shard.entities.insert([row], { epoch })
  await observer.query('START TRANSACTION')
  await observer.query('SELECT version FROM entities WHERE id = ? FOR UPDATE', [ids[2]])
  const receiving = shard.entities.receive(rows, { epoch, updated: 0 })
  const looker = await bench.observe()
  const isLocked = async (id: Buffer | undefined): Promise<boolean> => {
    const [found] = await looker.query<RowDataPacket[]>(
      'SELECT version FROM entities FORCE INDEX (id) WHERE id = ? FOR UPDATE SKIP LOCKED',
      [id],
    )
    return found.length === 0
  }
  await until(() => isLocked(ids[1]))
  expect(await isLocked(ids[0])).toBe(false)
  await observer.query('ROLLBACK')
  await receiving
  expect(await shard.entities.readVersions(ids)).toEqual([9, 9, 9])
})

const rowsTo = (ids: readonly Buffer[]): readonly EntityInsert[] =>
  ids.map((id) => ({ id, version: 9, body: Buffer.of(9) }))
