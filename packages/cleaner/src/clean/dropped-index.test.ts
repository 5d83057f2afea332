import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { expect, test } from 'vitest'
import { byTag, byUser, openStore } from '../../test/stores.ts'
import { explainMissingTable } from './dropped-index.ts'

test('the error of a missing table names the index that was dropped, and stays as it is if none was', async () => {
  const driver = await memoryShards(1).connect()
  const { context } = await openStore({ driver, indexes: [byUser, byTag] })
  const { indexes: entries } = context.catalog.current()
  const missing = new LooseleafError('INDEX_NOT_FOUND', 'The table is missing.')
  expect(await explainMissingTable(context, entries, missing, {})).toBe(missing)
  await (await openStore({ driver, indexes: [] })).dropIndex('by_tag')
  expect(await explainMissingTable(context, entries, missing, {})).toMatchObject({
    code: 'INDEX_NOT_FOUND',
    message: 'Index by_tag was dropped while it was cleaned.',
    cause: missing,
  })
})
