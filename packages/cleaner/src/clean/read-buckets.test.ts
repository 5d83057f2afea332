import { farRouter } from '@looseleaf-tooling/kit/far-router'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { expect, test } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { freshPart, type Part } from './part.ts'
import { bucketsOf, bucketsWhere, byArrival, byArrivalFrom, readFrom, unreadBuckets } from './read-buckets.ts'

const partThatRead = (entities: string, check = ''): Part => ({
  ...freshPart('run'),
  read: { entities, check },
})

test('buckets are grouped by the time at which they came', () => {
  const served = new Map([
    [3, -1],
    [4, 7],
    [1, -1],
    [2, -1],
    [6, 7],
  ])
  expect(byArrival(served)).toEqual({ '-1': '1-3', 7: '4,6' })
  expect(bucketsOf(byArrival(served))).toBe('1-4,6')
  expect(byArrival(new Map())).toEqual({})
})

test('buckets that came back are told from those that stayed', () => {
  const later = new Map([
    [1, -1],
    [2, 9],
    [4, 7],
  ])
  const stayed = bucketsWhere({ '-1': '1-3', 7: '4' }, (bucket, arrival) => later.get(bucket) === arrival)
  expect(stayed).toEqual({ '-1': '1', 7: '4' })
})

test('a bucket is unread until some part has read it in that phase', async () => {
  const { context } = await openStore({ driver: await memoryShards(2).connect() })
  const parts = [partThatRead('0-99', '0-4095'), partThatRead('98-2047,2050')]
  expect(unreadBuckets(context, parts, 'entities')).toBe('2048-2049,2051-4095')
  expect(unreadBuckets(context, parts, 'check')).toBe('')
})

test('stored buckets are parsed if all of their ranges are valid', () => {
  const buckets = { '-1': '0-76', 4: '97' }
  expect(byArrivalFrom(buckets)).toEqual(buckets)
  for (const other of [undefined, 'all', { '-1': '0-76', 4: '9-2' }, { '-1': 5 }])
    expect(byArrivalFrom(other)).toBeUndefined()
  const read = { entities: '0-76', check: '' }
  expect(readFrom({ ...read, other: 1 })).toEqual(read)
  for (const other of [undefined, { ...read, entities: '9-2' }, { ...read, check: '9-2' }, { entities: '' }])
    expect(readFrom(other)).toBeUndefined()
})

test('a store without buckets has no unread ones', async () => {
  const { context } = await openStore({ shards: 2, router: farRouter() })
  expect(unreadBuckets(context, [partThatRead('')], 'entities')).toBe('')
})
