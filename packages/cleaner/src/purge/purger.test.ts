import type { EntityPageRow } from '@looseleaf/core/internal'
import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { createPurger } from './purger.ts'

test('a purger goes on at once on a shard with more rows than a round reads, and otherwise rests for a minute', async () => {
  const time = leapingTime()
  const { shards, ...rest } = createReferenceDriver({ shards: 1, now: () => time.now() * 1000 })
  const [shard] = shards
  const row = {
    id: Buffer.alloc(16),
    version: 1,
    updated: 1,
    addedId: 1,
    body: Buffer.from('x'),
    bodyBytes: 1,
  }
  let page: readonly EntityPageRow[] = Array.from({ length: 500 }, () => row)
  let pages = 0
  const entities = { ...shard!.entities, pageOfChanges: async () => (pages++, page) }
  const store = await openStore({ driver: { ...rest, shards: [{ ...shard!, entities }] }, time, indexes: [] })
  const purger = createPurger(store.context, {
    owner: 'first',
    leaseMs: 30_000,
    signal: undefined,
    onError: (error) => expect.unreachable(String(error)),
  })
  await shard!.entities.raiseFloor()
  await purger.purgeDue()
  expect(pages).toBe(10)
  page = []
  await purger.purgeDue()
  expect(pages).toBe(11)
  await purger.purgeDue()
  expect(pages).toBe(11)
})
