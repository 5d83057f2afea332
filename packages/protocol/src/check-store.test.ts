import { optionKinds } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { checkStore, type AnyStore } from './check-store.ts'

const check = (store: unknown, options: object = {}): void =>
  checkStore('tidy', store as AnyStore, options as { readonly deep?: boolean }, { deep: optionKinds.flag })

test('a store has a context with a driver and a catalog', () => {
  check({ context: { driver: {}, catalog: {} } }, { deep: true })
})

test.each([
  undefined,
  7,
  {},
  { context: 7 },
  { context: { driver: {} } },
  { context: { catalog: {} } },
  { context: { driver: 'x', catalog: {} } },
  { context: { driver: {}, catalog: 7 } },
])('%j is no store', (store) => {
  expect(() => check(store)).toThrow(
    expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringMatching(/tidy.*a DataStore/) }),
  )
})

test('options of a call are checked', () => {
  const store = { context: { driver: {}, catalog: {} } }
  expect(() => check(store, { deep: 'yes' })).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
  expect(() => check(store, { depth: true })).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
})
