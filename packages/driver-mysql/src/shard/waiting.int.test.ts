import type { Shard } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { epoch, freshBench, insertLocked, newEntity, threadBusyWith } from '../../test/bench.ts'

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
