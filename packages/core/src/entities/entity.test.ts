import { expect, test } from 'vitest'
import type * as Entities from './entity.ts'
import { metaOf, setMeta } from './entity.ts'

test('an entity has hidden meta', () => {
  const entity = { id: '0192f0c1-7c1e-7abc-8def-0123456789ab', title: 'A' }
  setMeta(entity, 7, 5000)
  expect(metaOf(entity)).toEqual({ version: 7, updated: new Date(5000) })
  expect(Object.keys(entity)).toEqual(['id', 'title'])
})

test('a copy of an entity, and any other object, has no meta', () => {
  const entity = { id: '0192f0c1-7c1e-7abc-8def-0123456789ab' }
  setMeta(entity, 7, 0)
  expect(metaOf({ ...entity })).toBeUndefined()
  expect(metaOf({})).toBeUndefined()
})

test('a value that is not an object has no meta', () => {
  for (const nothing of [undefined, null, 'text', 5]) expect(metaOf(nothing as never)).toBeUndefined()
})

test('another copy of the package in the process reads and sets the same meta', async () => {
  const entity = { id: '0192f0c1-7c1e-7abc-8def-0123456789ab' }
  setMeta(entity, 7, 5000)
  // A query makes it another module.
  const copyPath = './entity.ts?copy'
  const copy = (await import(copyPath)) as typeof Entities
  expect(copy.metaOf).not.toBe(metaOf)
  expect(copy.metaOf(entity)).toEqual({ version: 7, updated: new Date(5000) })
  const other = { id: '0192f0c1-7c1e-7abc-8def-0123456789ac' }
  copy.setMeta(other, 8, 6000)
  expect(metaOf(other)).toEqual({ version: 8, updated: new Date(6000) })
})
