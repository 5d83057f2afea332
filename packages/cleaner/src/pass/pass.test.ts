import { expect, test } from 'vitest'
import { byUser, openStore } from '../../test/stores.ts'
import { indexTarget } from './index-target.ts'
import { countByIndex, createPass } from './pass.ts'

test('deleted rows of all generations of an index count under its name', async () => {
  const { context } = await openStore({ indexes: [byUser] })
  const [entry] = context.catalog.current().indexes
  const { pass, removed } = countByIndex(createPass(context))
  for (const generation of [1, 2])
    pass.tallyOf(indexTarget(context, { ...entry!, generation })).removed += generation
  expect(removed()).toEqual(new Map([['by_user', 3]]))
})
