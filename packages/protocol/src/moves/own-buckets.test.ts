import { LooseleafError } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { expect, test } from 'vitest'
import {
  arrivedSince,
  bucketsOfMove,
  changeOwn,
  hasAttempt,
  isSameMove,
  ofMove,
  ofOthers,
  withArrivals,
  withoutBuckets,
} from './own-buckets.ts'

const first = { move: 1, attempt: 1, buckets: '0-9' }
const again = { move: 1, attempt: 2, buckets: '20-29' }
const other = { move: 2, attempt: 1, buckets: '30-39' }
const RECORDS = [first, other, again]

test('the records of a move are told from those of others', () => {
  expect(ofMove(RECORDS, 1)).toEqual([first, again])
  expect(ofOthers(RECORDS, 1)).toEqual([other])
  expect(ofMove(undefined, 1)).toEqual([])
  expect(ofOthers([first], 1)).toBeUndefined()
  expect(ofOthers(undefined, 1)).toBeUndefined()
})

test('the buckets of a move are joined', () => {
  expect(bucketsOfMove(RECORDS, 1)).toBe('0-9,20-29')
  expect(bucketsOfMove(RECORDS, 3)).toBe('')
  expect(bucketsOfMove(undefined, 1)).toBe('')
})

test('buckets are taken out of all records, and a record without any is left out', () => {
  expect(withoutBuckets(RECORDS, '5-29')).toEqual([{ ...first, buckets: '0-4' }, other])
  expect(withoutBuckets([first], '0-9')).toBeUndefined()
  expect(withoutBuckets(undefined, '0-9')).toBeUndefined()
})

test('an attempt has the buckets of all of its records, and no others', () => {
  const records = [...RECORDS, { ...first, buckets: '10-11' }]
  expect(hasAttempt(records, { ...first, buckets: '8-11' })).toBe(true)
  expect(hasAttempt(records, { ...first, buckets: '11-12' })).toBe(false)
  expect(hasAttempt(records, { ...first, buckets: '20' })).toBe(false)
  expect(hasAttempt(records, { ...other, buckets: '0' })).toBe(false)
  expect(hasAttempt(undefined, first)).toBe(false)
})

test('a move is known by its number, its shards and some of its buckets', () => {
  const move = { id: 1, from: 0, to: 1, buckets: '0-9' }
  expect(isSameMove(move, move)).toBe(true)
  expect(isSameMove(move, { ...move, buckets: '9-20' })).toBe(true)
  for (const part of [{ id: 2 }, { from: 2 }, { to: 2 }, { buckets: '10-20' }])
    expect(isSameMove(move, { ...move, ...part })).toBe(false)
})

const ARRIVED = { ...first, from: 0, end: 5, begin: 6, afterAddedId: 0 }

test('the buckets of a move and of later ones have arrived since', () => {
  const arrived = [
    ARRIVED,
    { ...ARRIVED, move: 2, buckets: '10-14' },
    { ...ARRIVED, move: 3, buckets: '15-19' },
  ]
  expect(arrivedSince({ owns: '0-19', arrived }, 2)).toBe('10-19')
  expect(arrivedSince({ owns: '0-19' }, 1)).toBe('')
  expect(arrivedSince(undefined, 1)).toBe('')
})

test('buckets that arrive are owned, and replace their earlier arrivals', () => {
  const later = { ...ARRIVED, move: 2, buckets: '5-6' }
  expect(withArrivals({ owns: '0-4,20', arrived: [ARRIVED] }, [later])).toEqual({
    owns: '0-6,20',
    arrived: [{ ...ARRIVED, buckets: '0-4,7-9' }, later],
  })
  expect(withArrivals({ owns: '' }, [later])).toEqual({ owns: '5-6', arrived: [later] })
})

/** A shard whose catalog has these epochs at its readings, the last one from then on. A change without an answer here comes too late. */
function shardWith(
  epochs: readonly number[],
  answers: readonly (boolean | LooseleafError)[] = [],
): { readonly context: EngineContext; readonly calls: string[] } {
  const calls: string[] = []
  const [readings, changes] = [epochs.values(), answers.values()]
  let epoch = 0
  const shard = {
    name: 'shard 0',
    catalog: {
      async load() {
        calls.push('load')
        epoch = readings.next().value ?? epoch
        return catalogOf({ epoch, serves: { owns: '0-9' } })
      },
      async change(_: ShardCatalog, expected: number) {
        calls.push(`change ${expected}`)
        const answer = changes.next().value ?? false
        if (typeof answer === 'boolean') return answer
        throw answer
      },
    },
    flush: async () => void calls.push('flush'),
    now: async () => 100,
  }
  return { context: { driver: { shards: [shard] } } as unknown as EngineContext, calls }
}

const take = () => ({ owns: '0-8' })

test('a state that is left is flushed, and read again until it stays', async () => {
  const { context, calls } = shardWith([5, 6])
  const { catalog } = await changeOwn(context, 0, () => undefined, {})
  expect(catalog.epoch).toBe(6)
  expect(calls).toEqual(['load', 'flush', 'load', 'load', 'flush', 'load'])
})

test('a change goes by the present state after one of another process, and after one without an answer', async () => {
  const lost = new LooseleafError('OUTCOME_UNKNOWN', 'The answer was lost.')
  const { context, calls } = shardWith([5, 6, 7], [false, lost, true])
  const { catalog, serves } = await changeOwn(context, 0, take, {})
  expect([catalog.epoch, serves]).toEqual([100, { owns: '0-8' }])
  expect(calls).toEqual(['load', 'change 5', 'load', 'change 6', 'load', 'change 7'])
})

test.each([
  [[true], 90, ['change 5']],
  [[false, true], 100, ['change 5', 'load', 'change 6']],
])('the first try goes by the known state and its reading of the clock: %j', async (answers, epoch, sent) => {
  const { context, calls } = shardWith([6], answers)
  const serves = { owns: '0-9' }
  const known = { catalog: catalogOf({ epoch: 5, serves }), serves, now: 90 }
  const { catalog } = await changeOwn(context, 0, take, {}, known)
  expect([catalog.epoch, calls]).toEqual([epoch, sent])
})

test('a change that was refused is not made again', async () => {
  const refused = new LooseleafError('SHARD_UNAVAILABLE', 'The server is read-only.')
  const { context, calls } = shardWith([5], [refused])
  await expect(changeOwn(context, 0, take, {})).rejects.toBe(refused)
  expect(calls).toEqual(['load', 'change 5'])
})

test('a change is given up after fifty changes by other processes', async () => {
  const { context, calls } = shardWith([5])
  await expect(changeOwn(context, 0, take, {})).rejects.toMatchObject({
    code: 'CONFLICT',
    shard: 'shard 0',
    message: expect.stringContaining('the buckets of shard 0 50 times in a row'),
  })
  expect(calls.filter((call) => call === 'change 5')).toHaveLength(50)
})
