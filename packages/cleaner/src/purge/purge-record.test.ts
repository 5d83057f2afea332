import { expect, test } from 'vitest'
import { recordFromText, recordToText } from './purge-record.ts'

test('the record of a purge survives being stored as text', () => {
  const place = { updated: 7, addedId: 3 }
  for (const record of [
    { place, passed: undefined },
    { place, passed: { from: { updated: 5, addedId: 1 }, version: 9 } },
  ])
    expect(recordFromText(recordToText(record))).toEqual(record)
})

test.each(['', '{', '7', '{"place":5}'])(
  'any other text is the record of a purge that has not begun: %s',
  (text) => {
    expect(recordFromText(text)).toEqual({ place: { updated: 0, addedId: 0 }, passed: undefined })
  },
)
