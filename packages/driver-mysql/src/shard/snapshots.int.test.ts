import { MAX_SNAPSHOTS } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { cleanUp, epoch, freshBench, newEntity } from '../../test/bench.ts'
import { keepSessions, startSessionPooler } from '../../test/session-pooler.ts'
import { undone } from '../../test/undone.ts'

const bench = await freshBench()

test('no transaction stays on the server after the time of a snapshot', async () => {
  const { shard } = await bench.migrate()
  const observer = await bench.observe()
  const open = await shard.snapshot!({ maxMs: 60_000 })
  const short = await Promise.all(
    Array.from({ length: MAX_SNAPSHOTS - 1 }, () => shard.snapshot!({ maxMs: 20 })),
  )
  await open.close()
  // These wait for the others. MySQL shows old transactions for as long as it is asked ten times a second, so it is asked afterwards.
  const next = await Promise.all(
    Array.from({ length: MAX_SNAPSHOTS }, () => shard.snapshot!({ maxMs: 60_000 })),
  )
  await Promise.all(next.map((snapshot) => snapshot.close()))
  await undone(observer)
  for (const snapshot of short) await snapshot.close()
  expect(shard.connections!()).toMatchObject({ waiting: 0, refusal: undefined })
})

test('the driver closes once its snapshots are closed', async () => {
  const { shard, driver } = await bench.migrate()
  const entity = newEntity()
  await shard.entities.insert([entity], { epoch })
  const snapshot = await shard.snapshot!({ maxMs: 60_000 })
  let isClosed = false
  const closing = driver.close().then(() => (isClosed = true))
  expect(await snapshot.entities.readVersions([entity.id])).toEqual([1])
  expect(isClosed).toBe(false)
  await snapshot.close()
  await closing
})

test.each([
  ['the isolation level', /^SET @@/],
  ['the beginning', /^START TRANSACTION WITH/],
  ['the first check', /^SELECT 18446744073709551615/],
])('a snapshot is refused if a pooler sends %s to another session', async (_, stray) => {
  await bench.migrate()
  const sessions = 4
  const pooler = await startSessionPooler(bench.url, { sessions })
  cleanUp(() => pooler.close())
  const { shard } = await bench.connect({}, pooler.url)
  await (await shard.snapshot!({ maxMs: 60_000 })).close()
  pooler.route = (command) => keepSessions(command) + (stray.test(command.text) ? 2 : 0)
  await expect(shard.snapshot!({ maxMs: 60_000 })).rejects.toMatchObject({ code: 'STATEMENT_FAILED' })
  pooler.route = keepSessions
})
