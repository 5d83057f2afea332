import type { Shard } from '@looseleaf/core'
import type { EntityInsert } from '@looseleaf/core/internal'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { beforeEach, describe, expect, test } from 'vitest'
import { cleanUp, epoch, freshBench, newEntity, threadBusyWith, threadsAt } from '../../test/bench.ts'
import { startSessionPooler } from '../../test/session-pooler.ts'
import { wordsThrough } from '../../test/sent-statements.ts'
import type { TcpProxy } from '../../test/tcp-proxy.ts'
import { until } from '../../test/until.ts'

const bench = await freshBench()
const spec = { table: 'ix_packet', columns: [{ name: 'n', type: 'integer' }] } as const

let proxy: TcpProxy
let shard: Shard
let observer: Connection
/** First words of the texts since the start of a test. */
let sent: string[]

beforeEach(async () => {
  const behind = await bench.behindProxy()
  proxy = behind.proxy
  shard = (await bench.migrate({ poolSize: 1, lockWaitSeconds: 1 }, behind.url)).shard
  await shard.dropIndexTable(spec)
  await shard.createIndexTable(spec)
  observer = await bench.observe()
  sent = wordsThrough(proxy)
})

/** Returns an entity with a local row. */
function withRow(entity: EntityInsert, n = 1n): EntityInsert {
  const rows = [{ key: [n], entityId: entity.id, version: entity.version }]
  return { ...entity, local: { upsert: [{ spec, rows }] } }
}

const rowsOf = async ({ id }: Pick<EntityInsert, 'id'>) => (await shard.rowsOf([spec], [id]))[0]
const versionOf = async ({ id }: Pick<EntityInsert, 'id'>) => (await shard.entities.readVersions([id]))[0]

test('an entity and its local rows are one packet, and one round trip', async () => {
  const entity = withRow(newEntity())
  await shard.entities.insert([entity], { epoch })
  await shard.entities.replace([{ ...withRow({ ...entity, version: 2 }), base: 1 }], { epoch })
  expect(sent).toEqual(['START', 'START'])
  expect(await rowsOf(entity)).toMatchObject([{ version: 2 }])
})

describe('a packet without an answer', () => {
  test('a packet that never arrives is OUTCOME_UNKNOWN, and nothing is written', async () => {
    const entity = withRow(newEntity())
    proxy.rewrite = (bytes) => {
      if (!bytes.includes('START')) return bytes
      proxy.rewrite = (later) => later
      proxy.cut()
      return Buffer.alloc(0)
    }
    await expect(shard.entities.insert([entity], { epoch })).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      unknownOutcome: true,
    })
    expect(await versionOf(entity)).toBeUndefined()
    expect(await rowsOf(entity)).toEqual([])
  })

  test('a packet whose answer is lost is OUTCOME_UNKNOWN, and everything is written', async () => {
    const entity = withRow(newEntity())
    expect(await versionOf(entity)).toBeUndefined()
    proxy.silence = 'to-client'
    const written = shard.entities.insert([entity], { epoch }).catch((error: unknown) => error)
    await until(async () => {
      const [rows] = await observer.query<RowDataPacket[]>('SELECT version FROM entities WHERE id = ?', [
        entity.id,
      ])
      return rows.length > 0
    })
    proxy.silence = 'none'
    proxy.cut()
    expect(await written).toMatchObject({ code: 'OUTCOME_UNKNOWN', unknownOutcome: true })
    expect(await versionOf(entity)).toBe(1)
    expect(await rowsOf(entity)).toMatchObject([{ version: 1 }])
  })

  test('a packet whose session is killed in its midst is OUTCOME_UNKNOWN, and nothing is written', async () => {
    const entity = withRow(newEntity())
    await observer.query('START TRANSACTION')
    await observer.query('SELECT epoch FROM looseleaf_meta WHERE id = 1 FOR UPDATE')
    const written = shard.entities.insert([entity], { epoch }).catch((error: unknown) => error)
    const looker = await bench.observe()
    const thread = await threadBusyWith(looker, 'INSERT INTO `entities`')
    await looker.query(`KILL ${thread}`)
    await observer.query('ROLLBACK')
    expect(await written).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(await versionOf(entity)).toBeUndefined()
    expect(await rowsOf(entity)).toEqual([])
  })
})

describe('a packet that fails in its midst', () => {
  /** Returns the numbers of the driver's sessions. */
  const sessions = () => threadsAt(observer)

  test('a packet with an id that exists leaves nothing, and its connection stays in use', async () => {
    const [stored, fresh] = [newEntity(), newEntity()]
    await shard.entities.insert([stored], { epoch })
    const before = await sessions()
    const failed = shard.entities.insert([withRow(fresh), withRow({ ...stored, version: 2 })], { epoch })
    await expect(failed).rejects.toMatchObject({ code: 'ALREADY_EXISTS', unknownOutcome: false })
    expect([await rowsOf(stored), await rowsOf(fresh)]).toEqual([[], []])
    expect(await versionOf(fresh)).toBeUndefined()
    expect(await sessions()).toEqual(before)
  })

  test('a packet that waits too long for a lock leaves no lock and no row, and may be sent again', async () => {
    const entity = withRow(newEntity())
    await observer.query('START TRANSACTION')
    await observer.query('SELECT epoch FROM looseleaf_meta WHERE id = 1 FOR UPDATE')
    const before = await sessions()
    await expect(shard.entities.insert([entity], { epoch })).rejects.toMatchObject({
      code: 'SHARD_BUSY',
      undone: true,
      unknownOutcome: false,
    })
    // The index row would still be locked by an open transaction.
    const looker = await bench.observe()
    const [open] = await looker.query<RowDataPacket[]>(
      'SELECT * FROM ix_packet WHERE entity_id = ? FOR UPDATE',
      [entity.id],
    )
    expect(open).toEqual([])
    await observer.query('ROLLBACK')
    await looker.query('ROLLBACK')
    await shard.entities.insert([entity], { epoch })
    expect(await rowsOf(entity)).toMatchObject([{ version: 1 }])
    expect((await sessions()).filter((thread) => before.includes(thread))).toEqual(before)
  })

  test('an insert that is refused because the floor is ahead is undone as a whole, and sent again', async () => {
    const entity = { ...withRow(newEntity()), deferred: ['ix_far'] }
    cleanUp(async () => void (await observer.query('UPDATE looseleaf_meta SET floor = UTC_TIMESTAMP(6)')))
    await observer.query('UPDATE looseleaf_meta SET floor = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR')
    const { floor } = await shard.entities.floor()
    const before = await sessions()
    sent.length = 0
    await shard.entities.insert([entity], { epoch })
    // The packet, its ROLLBACK between two checks of the token, the epoch, and the packet that reads the floor.
    expect(sent).toEqual(['START', 'SELECT', 'SELECT', 'START'])
    expect(await shard.entities.read([entity.id])).toMatchObject([{ version: 1, updated: floor }])
    expect(await rowsOf(entity)).toMatchObject([{ version: 1 }])
    expect(await sessions()).toEqual(before)
  })

  test('a packet that a deadlock ends is undone as a whole, and may be sent again', async () => {
    const entity = newEntity()
    await shard.entities.insert([withRow(entity)], { epoch })
    // The observer locks the entity, then waits for the index row that the packet has locked.
    await observer.query('SET SESSION innodb_lock_wait_timeout = 5')
    await observer.query('START TRANSACTION')
    for (let i = 0; i < 20; i++)
      await observer.query('INSERT INTO ix_packet VALUES (?, ?, 1)', [100 + i, entity.id])
    await observer.query('SELECT version FROM entities WHERE id = ? FOR UPDATE', [entity.id])
    const swap = { ...withRow({ ...entity, version: 2 }), base: 1 }
    const replaced = shard.entities.replace([swap], { epoch }).then(
      (won) => won,
      (error: unknown) => error,
    )
    const looker = await bench.observe()
    await threadBusyWith(looker, 'UPDATE `entities`')
    await observer.query('SELECT version FROM ix_packet WHERE n = 1 AND entity_id = ? FOR UPDATE', [
      entity.id,
    ])
    await observer.query('ROLLBACK')
    expect(await replaced).toMatchObject({ code: 'SHARD_BUSY', undone: true, unknownOutcome: false })
    expect(await rowsOf(entity)).toMatchObject([{ version: 1 }])
    expect(await shard.entities.replace([swap], { epoch })).toEqual([true])
    expect(await rowsOf(entity)).toMatchObject([{ version: 2 }])
  })
})

describe('statements that cannot be one packet', () => {
  test('a write that is larger than max_allowed_packet as text is sent statement by statement', async () => {
    const [[limit]] = await observer.query<RowDataPacket[]>('SELECT @@max_allowed_packet AS bytes')
    // As text the bodies are twice as long. A column holds 16 MiB.
    const bytes = Math.floor(Number(limit?.['bytes']) * 0.6)
    const count = Math.ceil(bytes / 12_000_000)
    const entities = Array.from({ length: count }, () =>
      withRow({ ...newEntity(), body: Buffer.alloc(Math.floor(bytes / count), 'x') }),
    )
    const [entity] = entities
    await shard.entities.insert(entities, { epoch })
    expect(sent.slice(0, 2)).toEqual(['START', 'INSERT'])
    expect(sent).toContain('COMMIT')
    expect(await rowsOf(entity!)).toMatchObject([{ version: 1 }])
    expect(await versionOf(entity!)).toBe(1)
  })

  test.each([1, 2])(
    'a packet of which a proxy passes on the first %i of the statements is OUTCOME_UNKNOWN, and the next writes go one by one',
    async (passed) => {
      const passOn = proxy.rewrite
      proxy.rewrite = (bytes) => {
        passOn(bytes)
        const start = bytes.indexOf('START TRANSACTION;')
        if (start < 0) return bytes
        const text = bytes.subarray(start).toString('latin1').split('; ').slice(0, passed).join('; ')
        const cut = Buffer.concat([bytes.subarray(0, start), Buffer.from(text, 'latin1')])
        cut.writeUIntLE(cut.length - 4, 0, 3)
        return cut
      }
      const [first, next] = [withRow(newEntity()), withRow(newEntity())]
      await expect(shard.entities.insert([first], { epoch })).rejects.toMatchObject({
        code: 'OUTCOME_UNKNOWN',
      })
      expect(await versionOf(first)).toBeUndefined()
      sent.length = 0
      await shard.entities.insert([next], { epoch })
      expect(sent.slice(-5)).toEqual(['START', 'INSERT', 'INSERT', 'COMMIT', 'SELECT'])
      expect(await rowsOf(next)).toMatchObject([{ version: 1 }])
    },
  )

  test('a server that refuses several statements gets them one by one, and no further packet', async () => {
    const pooler = await startSessionPooler(bench.url, { sessions: 4, packets: 'refused' })
    cleanUp(() => pooler.close())
    const texts: string[] = []
    pooler.route = ({ client, text }) => {
      texts.push(/\w+/.exec(text)?.[0] ?? '')
      return client
    }
    const { shard: behind } = await bench.connect({ poolSize: 1 }, pooler.url)
    texts.length = 0
    const entities = [newEntity(), newEntity()].map((entity) => withRow(entity))
    for (const entity of entities) await behind.entities.insert([entity], { epoch })
    const one = ['START', 'INSERT', 'INSERT', 'COMMIT', 'SELECT']
    // The pooler has refused the packet before it chose a session.
    expect(texts).toEqual([...one, ...one])
    for (const entity of entities) expect(await rowsOf(entity)).toMatchObject([{ version: 1 }])
  })
})
