import { parseId } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { byUser, entryOf, openStore } from '../../test/stores.ts'
import { indexTarget } from '../pass/index-target.ts'
import { createPass } from '../pass/pass.ts'
import type { DerivedEntity } from './derive-entity.ts'
import { inspect } from './inspect.ts'

test('rows of an entity whose body cannot be decoded are not dangling', async () => {
  const store = await openStore({ indexes: [byUser] })
  const { id, version } = await store.put({ user_id: 'ada', published: 1 })
  const entity = { id: parseId(id), version, updated: 0 }
  const target = indexTarget(store.context, entryOf(store, 'by_user'))
  const inspected = async (expected: DerivedEntity['expected']) =>
    (await inspect(createPass(store.context), [target], [{ ...entity, expected }], { everywhere: true }))
      .dangling.length
  expect(await inspected(undefined)).toBe(0)
  expect(await inspected(new Map())).toBe(1)
})
