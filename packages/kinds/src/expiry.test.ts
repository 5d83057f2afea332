import { LooseleafError } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { createExpiry } from './expiry.ts'
import type { Shape } from './shape.ts'

test('a kind whose entities do not expire does not read the holder of a key', async () => {
  const store = { context: {}, get: () => expect.unreachable() } as unknown as DataStore
  const expiry = createExpiry(store, { expires: undefined, isOf: () => true } as unknown as Shape)
  const taken = new LooseleafError('DUPLICATE_KEY', 'The key is taken.')
  expect(await expiry.removesExpired(taken, undefined)).toBe(false)
  await expect(expiry.replaceExpired(() => Promise.reject(taken), undefined)).rejects.toBe(taken)
})
