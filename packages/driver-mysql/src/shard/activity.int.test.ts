import { expect, test, vi } from 'vitest'
import { cleanUp, epoch, freshBench, newEntity, threadBusyWith } from '../../test/bench.ts'

const bench = await freshBench()

test('a statement that waits for a lock has its table, its age and the holder of the lock', async () => {
  const { shard } = await bench.migrate()
  const entity = newEntity()
  await shard.entities.insert([entity], { epoch })
  expect(await shard.activity?.()).toEqual([])
  const holder = await bench.observe()
  await holder.query('START TRANSACTION')
  cleanUp(() => holder.query('ROLLBACK'))
  await holder.query('UPDATE entities SET version = version')
  const swap = shard.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch })
  await threadBusyWith(await bench.observe(), 'UPDATE `entities`')
  const waiting = {
    session: expect.any(Number),
    runningMs: expect.any(Number),
    state: expect.any(String),
    operation: 'UPDATE',
    table: 'entities',
    waitsFor: [holder.threadId],
  }
  // InnoDB shows its locks as they were up to 0.1 s ago, and for as long as they are read more often than that.
  await vi.waitFor(async () => expect(await shard.activity?.()).toEqual([waiting]), {
    timeout: 10_000,
    interval: 200,
  })
  await holder.query('COMMIT')
  await swap
  expect(await shard.activity?.()).toEqual([])
})

test('a user without the privilege PROCESS sees statements and no locks', async () => {
  const { shard } = await bench.migrate()
  const entity = newEntity()
  await shard.entities.insert([entity], { epoch })
  const admin = await bench.observe()
  const url = await limitedUser()
  const { shard: limited } = await bench.connect({}, url)
  await admin.query('START TRANSACTION')
  cleanUp(() => admin.query('ROLLBACK'))
  await admin.query('UPDATE entities SET version = version')
  const swap = limited.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch })
  await threadBusyWith(await bench.observe(), 'UPDATE `entities`')
  expect(await limited.activity?.()).toMatchObject([{ operation: 'UPDATE', waitsFor: undefined }])
  await admin.query('COMMIT')
  await swap

  async function limitedUser(): Promise<string> {
    const user = `limited_${process.pid}`
    const at = new URL(bench.url)
    await admin.query(`CREATE USER ${user}@'%' IDENTIFIED BY 'pass'`)
    cleanUp(() => admin.query(`DROP USER ${user}@'%'`))
    await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${at.pathname.slice(1)}.* TO ${user}@'%'`)
    at.username = user
    at.password = 'pass'
    return at.href
  }
})
