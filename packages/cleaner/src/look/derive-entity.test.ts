import { LooseleafError } from '@looseleaf/core'
import { expect, it } from 'vitest'
import { byTag, entryOf, openStore } from '../../test/stores.ts'
import { indexTarget } from '../pass/index-target.ts'
import { createPass } from '../pass/pass.ts'
import { derivedBatches, deriveEntity } from './derive-entity.ts'

it('entities are derived in batches of a bounded number of rows', async () => {
  const store = await openStore({ shards: 1, indexes: [byTag] })
  const { entities } = store.context.driver.shards[0]!
  // Each entity weighs a thousand: 999 rows and itself.
  const tags = Array.from({ length: 999 }, (_, i) => `tag ${i}`)
  await store.putMany(Array.from({ length: 21 }, () => ({ tags })))
  const rows = (await entities.pageByAdded(0, 100)).map((row) => ({ ...row, body: row.body! }))
  const target = indexTarget(store.context, entryOf(store, 'by_tag'))
  const batches = await Array.fromAsync(derivedBatches(createPass(store.context), [target], rows))
  expect(batches.map((batch) => batch.length)).toEqual([5, 5, 5, 5, 1])
  expect(await Array.fromAsync(derivedBatches(createPass(store.context), [target], []))).toEqual([])
})

it('an error that is not about the body fails the derivation', async () => {
  const { context } = await openStore({ shards: 1, indexes: [byTag] })
  const target = indexTarget(context, context.catalog.current().indexes[0]!)
  const failure = new LooseleafError('SHARD_UNAVAILABLE', 'The codec entries cannot be read.')
  const bodies = { ...context.bodies, decode: () => Promise.reject(failure) }
  const pass = createPass({ ...context, bodies })
  const row = { id: Buffer.alloc(16), version: 7, updated: 1, body: Buffer.from('any') }
  await expect(deriveEntity(pass, [target], row.id, row)).rejects.toBe(failure)
  expect(pass.tally.undecodable).toBe(0)
})
