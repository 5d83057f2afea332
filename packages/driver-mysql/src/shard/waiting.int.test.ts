import type { Shard } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { createLimitedUser, sendStatement } from '@looseleaf-tooling/vitest/limited-user'
import { cleanUp, epoch, freshBench, insertLocked, newEntity, threadBusyWith } from '../../test/bench.ts'

const bench = await freshBench()

/** Creates a shard whose only connection is busy until `free` is called. */
async function busyShard() {
  const { shard } = await bench.migrate({ poolSize: 1, maxQueue: 1, lockWaitSeconds: 3_600 })
  const holder = await bench.observe()
  const entity = await insertLocked(shard, holder)
  const holding = shard.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch })
  await threadBusyWith(holder, 'UPDATE `entities`')
  return {
    shard,
    async free() {
      await holder.query('ROLLBACK')
      expect(await holding).toEqual([true])
    },
  }
}

const unsent = newEntity()

test.each([
  ['a read', (shard, signal) => shard.entities.read([unsent.id], { signal })],
  ['a write', (shard, signal) => shard.entities.insert([unsent], { epoch, signal })],
  [
    'a transaction',
    (shard, signal) => shard.entities.insert([{ ...unsent, deferred: ['ix_down'] }], { epoch, signal }),
  ],
] satisfies [string, (shard: Shard, signal: AbortSignal) => Promise<unknown>][])(
  '%s that waits for a connection ends at its signal unsent, and frees its place in the queue',
  async (_, ask) => {
    const { shard, free } = await busyShard()
    for (let round = 0; round < 20; round++) {
      const controller = new AbortController()
      const waiting = ask(shard, controller.signal)
      await expect(shard.now()).rejects.toMatchObject({ code: 'SHARD_BUSY' })
      controller.abort()
      await expect(waiting).rejects.toMatchObject({ code: 'ABORTED', unknownOutcome: false })
    }
    const next = shard.entities.readVersions([unsent.id])
    await free()
    expect(await next).toEqual([undefined])
  },
)

test('calls share the connections that the server allows its user, and an error of the wait names the limit', async () => {
  const { shard: admin } = await bench.migrate()
  const entity = newEntity()
  await admin.entities.insert([entity], { epoch })
  const limited = await createLimitedUser(bench.url, 'SELECT, INSERT, UPDATE, DELETE')
  cleanUp(() => limited.drop())
  await sendStatement(
    bench.url,
    `ALTER USER '${new URL(limited.url).username}'@'%' WITH MAX_USER_CONNECTIONS 1`,
  )
  const { shard, driver } = await bench.connect(
    { poolSize: 5, deadlineMs: 4_000, lockWaitSeconds: 3_600 },
    limited.url,
  )
  // The user can only be dropped when its connections have ended.
  cleanUp(() => driver.close())
  const found = await Promise.all(Array.from({ length: 20 }, () => shard.entities.readVersions([entity.id])))
  expect(found.flat()).toEqual(Array(20).fill(entity.version))

  const holder = await bench.observe()
  await holder.query('START TRANSACTION')
  await holder.query('SELECT id FROM entities WHERE id = ? FOR UPDATE', [entity.id])
  const holding = shard.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch })
  await threadBusyWith(holder, 'UPDATE `entities`')
  const waiting = shard.entities.readVersions([entity.id])
  await expect(waiting).rejects.toMatchObject({
    code: 'SHARD_BUSY',
    message: expect.stringMatching(
      /^127.0.0.1:.* no connection came free within 2000 ms; .* \(max_user_connections\)\. .*poolSize/,
    ),
  })
  await holder.query('ROLLBACK')
  expect(await holding).toEqual([true])
})
