import { expect, test } from 'vitest'
import { behindOf, recordFromText, recordToText } from './tail-record.ts'
import type { TailWindow } from './tail-window.ts'

const windowTo = (updated: number): TailWindow => ({
  seenUntil: 9_000_000,
  lookedAt: 8_000_000,
  gap: { since: 2_000_000, before: { updated, addedId: 3 } },
})

test('the record of a tail has the length of its gap in milliseconds, now and at the save before', () => {
  const window = windowTo(7_000_400)
  expect(recordFromText(recordToText(window, 70))).toEqual({
    window,
    worker: expect.stringContaining(`:${process.pid}`),
    behindMs: 5_000,
    wasBehindMs: 70,
  })
})

test('a gap without a length is 0 milliseconds long', () => {
  expect([behindOf(windowTo(1_000_000)), behindOf({ ...windowTo(0), gap: undefined })]).toEqual([0, 0])
})

test('a text without a window is no record', () => {
  expect(recordFromText('{"worker":"host:1"}')).toBeUndefined()
})
