import type { EntityPageRow } from '@looseleaf/core/internal'
import { kyselyShard } from '@looseleaf/driver-kysely'
import { CompiledQuery, type QueryResult } from 'kysely'
import type { RowDataPacket } from 'mysql2/promise'
import { expect, test } from 'vitest'
import { cleanUp, epoch, freshBench, newEntity, settings } from '../../test/bench.ts'
import { expectTimeRanges, selectsThrough } from '../../test/sent-statements.ts'
import { parseShardAddress } from '../connection/shard-address.ts'
import { connectShard } from '../shard/connect-shard.ts'
import { mysqlDialect } from './dialect.ts'
import { mysqlFlavor } from './flavor.ts'

const bench = await freshBench()

/** A time whose last microsecond differs from its neighbours'. */
const times = {
  '1971-02-03 04:05:06.700001': Date.UTC(1971, 1, 3, 4, 5, 6, 700) * 1_000 + 1,
  '2038-01-19 03:14:07.999999': Date.UTC(2038, 0, 19, 3, 14, 7, 999) * 1_000 + 999,
  '2038-01-19 03:14:08.000000': Date.UTC(2038, 0, 19, 3, 14, 8) * 1_000,
  '2100-06-30 12:00:00.123457': Date.UTC(2100, 5, 30, 12, 0, 0, 123) * 1_000 + 457,
  '2250-12-31 23:59:59.999999': Date.UTC(2250, 11, 31, 23, 59, 59, 999) * 1_000 + 999,
}

test('times after 2038 come back to the microsecond, and pages by time continue among them', async () => {
  const { shard } = await bench.migrate()
  const observer = await bench.observe()
  const entities = Object.keys(times).map(newEntity)
  await shard.entities.insert(entities, { epoch })
  for (const [i, time] of Object.keys(times).entries()) {
    await observer.query('UPDATE entities SET updated = ? WHERE id = ?', [time, entities[i]?.id])
  }
  const micros = Object.values(times)
  const read = await shard.entities.read(entities.map(({ id }) => id))
  expect(read.map((row) => row?.updated)).toEqual(micros)

  const newestFirst = micros.toReversed()
  const updatedOf = (rows: readonly { updated: number }[]): number[] => rows.map(({ updated }) => updated)
  const all = await shard.entities.pageByUpdated({ since: 0 }, 100)
  expect(updatedOf(all)).toEqual(newestFirst)
  for (const [i, row] of all.entries()) {
    const before = { updated: row.updated, addedId: row.addedId }
    expect(updatedOf(await shard.entities.pageByUpdated({ since: row.updated }, 100))).toEqual(
      newestFirst.slice(0, i + 1),
    )
    expect(updatedOf(await shard.entities.pageByUpdated({ since: 0, before }, 100))).toEqual(
      newestFirst.slice(i + 1),
    )
  }
})

test('a page by time reads a range of the key, and sorts nothing', async () => {
  const { proxy, url } = await bench.behindProxy()
  const { shard } = await bench.migrate({}, url)
  await shard.entities.insert(Array.from({ length: 300 }, newEntity), { epoch })
  const observer = await bench.observe()
  await observer.query("UPDATE entities SET updated = '2100-01-01' + INTERVAL added_id SECOND")
  await observer.query('ANALYZE TABLE entities')
  const [newest] = await shard.entities.pageByUpdated({ since: 0 }, 1)
  const { updated, addedId } = newest as EntityPageRow

  const sent = selectsThrough(proxy)
  const since = updated - 20_000_000
  const before = { updated: updated - 5_000_000, addedId }
  expect(await shard.entities.pageByUpdated({ since }, 100)).toHaveLength(21)
  expect(await shard.entities.pageByUpdated({ since, before }, 100)).toHaveLength(16)
  expect(sent).toHaveLength(2)
  await expectTimeRanges(observer, sent)
})

test('a write has the server’s time, up to the last time that a clock can have, and in any zone', async () => {
  await bench.migrate()
  const pool = connectShard(parseShardAddress(bench.url, 'MySQL shard 0', undefined), {
    ...settings,
    poolSize: 1,
  })
  cleanUp(() => pool.close())
  const shard = kyselyShard({ name: 'far', dialect: mysqlDialect(pool), flavor: mysqlFlavor })
  const connection = await pool.acquire()
  const ask = (sql: string): Promise<QueryResult<unknown>> => connection.executeQuery(CompiledQuery.raw(sql))
  // Servers whose clock ends in January 2038 can be set to their last second.
  await ask('SET timestamp = 4102444800').catch(() => ask('SET timestamp = 2147483647'))
  await ask("SET time_zone = '+05:00'")
  const { rows } = await ask('SELECT @@timestamp AS seconds')
  pool.release(connection)
  const seconds = Number((rows[0] as { seconds: unknown }).seconds)
  expect([4_102_444_800, 2_147_483_647]).toContain(seconds)

  expect(await shard.now()).toBe(seconds * 1_000_000)
  const observer = await bench.observe()
  const entity = newEntity()
  const expectWritten = async (): Promise<void> => {
    const [row] = await shard.entities.read([entity.id])
    expect(row?.updated).toBe(seconds * 1_000_000)
    await observer.query("UPDATE entities SET updated = '2001-01-01'")
  }
  await shard.entities.insert([entity], { epoch })
  await expectWritten()
  await shard.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch })
  await expectWritten()
  const other = newEntity()
  await shard.entities.insert([other], { epoch })
  await shard.entities.replace(
    [
      { ...entity, base: 2, version: 3 },
      { ...other, base: 1, version: 2 },
    ],
    { epoch },
  )
  await expectWritten()
})

test('changes without an end and copies have times up to the year 9999', async () => {
  const { shard } = await bench.migrate()
  const observer = await bench.observe()
  await observer.query('DELETE FROM entities')
  const [last, ...others] = Array.from({ length: 4 }, newEntity)
  await shard.entities.insert([last!], { epoch })
  const latest = '9999-12-31 23:59:59.999999'
  await observer.query('UPDATE entities SET updated = ? WHERE id = ?', [latest, last!.id])
  await observer.query('UPDATE looseleaf_meta SET floor = ?', ['2250-12-31 23:59:59.999999'])
  const { floor } = await shard.entities.floor()
  await shard.entities.receive(others, { epoch, updated: floor })
  const [copied] = await observer.query<RowDataPacket[]>(
    'SELECT CAST(updated AS CHAR) AS time FROM entities ORDER BY added_id',
  )
  expect(copied.map(({ time }) => String(time))).toEqual([
    latest,
    ...others.map(() => '2250-12-31 23:59:59.999999'),
  ])
  const after = { updated: floor - 1, addedId: 0 }
  const ids = [...others, last!].map(({ id }) => Buffer.from(id).toString('hex'))
  const pages = [
    await shard.entities.pageOfChanges({ after }, 10),
    await shard.entities.pageOfChecksums({ after }, 10),
  ]
  for (const page of pages) {
    expect(page.map(({ id }) => Buffer.from(id).toString('hex')).toSorted()).toEqual(ids.toSorted())
    expect(page.at(-1)?.id).toEqual(last!.id)
  }
})
