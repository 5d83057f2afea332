import { LooseleafError } from '@looseleaf/core'
import type { EntityPageRow } from '@looseleaf/core/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
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

test('an error of a purge is reported, and its shard rests for a minute while others are purged', async () => {
  const time = leapingTime()
  const reference = createReferenceDriver({ shards: 2, now: () => time.now() * 1000 })
  const away = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
  let claims = 0
  const driver = faultyDriver(reference, ({ shard, operation }) => {
    if (operation !== 'claim' || shard !== 1) return undefined
    claims++
    return { before: () => Promise.reject(away) }
  })
  const store = await openStore({ driver, time, indexes: [] })
  const ids = [0, 0, 1].map((shard) => idOn(store, shard))
  await store.putMany(ids.map((id) => ({ id, n: 1 })))
  for (const id of ids) await store.delete(id)
  time.leap(8 * 86_400_000)
  for (const { entities } of reference.shards) await entities.raiseFloor()
  const errors: unknown[] = []
  const purger = createPurger(store.context, {
    owner: 'first',
    leaseMs: 30_000,
    signal: undefined,
    onError: (error) => errors.push(error),
  })
  await purger.purgeDue()
  expect([purger.purged, errors, claims]).toEqual([2, [away], 1])
  time.leap(59_999)
  await purger.purgeDue()
  expect(claims).toBe(1)
  time.leap(1)
  await purger.purgeDue()
  expect([purger.purged, claims]).toEqual([2, 2])
})
