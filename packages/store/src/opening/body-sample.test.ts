import { envelopeCodec } from '@looseleaf/codec'
import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

test('open reads the oldest bodies of each shard and those written last once', async () => {
  const reference = createReferenceDriver({ shards: 2 })
  let pages: string[] = []
  const counting = faultyDriver(reference, ({ shard, operation }) => {
    if (operation.startsWith('pageBy')) pages.push(`${operation} ${shard}`)
    return undefined
  })
  const open = (): Promise<DataStore> => {
    pages = []
    return DataStore.open({
      shards: keepOpen(counting),
      codec: envelopeCodec({ shapes: true }),
      migrate: true,
      onWarning: () => {},
    })
  }
  await using store = await open()
  const { catalog } = store.context
  for (let n = 0; n < 200 && !catalog.current().hasDefinitions; n++) await store.put({ n, of: 'a shape' })
  const once = ['pageByAdded 0', 'pageByAdded 1', 'pageByUpdated 0', 'pageByUpdated 1']
  await using _ = await open()
  expect(pages.toSorted()).toEqual(once)

  // If the oldest bodies cannot be read, the codec is checked by the newest ones, which were read before.
  await catalog.reload()
  const { epochs } = catalog.current()
  for (const [shard, { entities }] of reference.shards.entries()) {
    for (const { id, version: base } of await entities.pageByAdded(0, 8))
      await entities.replace([{ id, base, version: base + 1, body: Buffer.from([250]) }], {
        epoch: epochs[shard]!,
      })
  }
  await using __ = await open()
  expect(pages.toSorted()).toEqual(once)
})
