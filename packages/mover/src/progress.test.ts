import type { MoveWork } from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { freshRecord, type MoveRecord } from './move-record.ts'
import { amountOf, createMeter, type MoveProgress } from './progress.ts'

const recordOf = (parts: Partial<MoveRecord>, read = 0): MoveRecord => {
  const record = freshRecord({ from: 0, buckets: '1' })
  return { ...record, counts: { ...record.counts, read }, ...parts }
}

test('every row is read twice, and the time left follows from the rate', () => {
  expect(amountOf(recordOf({ total: 100, rate: 10 }, 50))).toEqual({
    total: 200,
    rate: 10,
    timeLeftMs: 15_000,
  })
  expect(amountOf(recordOf({ step: 'checking', total: 100, rate: 30 }, 150))).toMatchObject({
    timeLeftMs: 1_667,
  })
})

test('the total is never less than the rows that were read', () => {
  expect(amountOf(recordOf({ total: 100, rate: 10 }, 250))).toEqual({ total: 250, rate: 10, timeLeftMs: 0 })
})

test('no time is estimated before the rate and the total are known', () => {
  expect(amountOf(recordOf({ total: 100 })).timeLeftMs).toBeUndefined()
  expect(amountOf(recordOf({ rate: 10 }, 5)).timeLeftMs).toBeUndefined()
})

test('no time is left once the copies were compared', () => {
  expect(amountOf(recordOf({ step: 'sealing', total: 100 })).timeLeftMs).toBe(0)
  expect(amountOf(recordOf({ step: 'done' })).timeLeftMs).toBe(0)
})

test('an observer is told of the copies since its last event, with late rows among the rows, and of nothing else', () => {
  let now = 0
  const events: object[] = []
  const progress: MoveProgress[] = []
  const waits = { throttledBy: undefined, waited: 0 }
  const work = {
    context: {
      time: { now: () => now, elapsed: () => now },
      events: { isWanted: true, happened: (event: object) => events.push(event) },
    },
    move: { id: 7 },
    throttle: { recentWaits: () => waits },
  } as unknown as MoveWork
  const record = recordOf({}, 0)
  const meter = createMeter(work, { from: 'a', to: 'b' }, record, (each) => progress.push(each))
  meter.report()
  Object.assign(record.counts, { rows: 3, late: 2 })
  meter.report()
  meter.report()
  Object.assign(record.counts, { entities: 4, late: 3, claims: 5 })
  meter.report()
  const names = { kind: 'copied', from: 'a', to: 'b' }
  expect(events).toEqual([
    { ...names, entities: 0, rows: 5, claims: 0 },
    { ...names, entities: 4, rows: 1, claims: 5 },
  ])
  meter.read(10)
  now = 5_000
  meter.read(20)
  expect(record.counts.read).toBe(30)
  expect(record.rate).toBeGreaterThan(0)
  expect(progress).toHaveLength(4)
  expect(progress[0]).toMatchObject({ move: 7, step: 'copying', ...waits })
})
