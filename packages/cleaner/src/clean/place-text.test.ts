import { expect, test } from 'vitest'
import { placeFromText, placeToText } from './place-text.ts'

test('a place survives being stored as text, with every type of column', () => {
  const place = {
    key: [Buffer.from([0, 255]), -(2n ** 63n), 2n ** 63n - 1n, 0.1, -5e-324, Buffer.alloc(0)],
    entityId: Buffer.alloc(16, 7),
  }
  expect(placeFromText(placeToText(place))).toEqual(place)
})

test('a place is parsed from its own text, and from no other', () => {
  const place = { key: [Buffer.from('ada'), 7n, 1.5], entityId: Buffer.alloc(16, 1) }
  const text = placeToText(place)
  expect(placeFromText(text)).toEqual(place)
  for (const other of [
    '',
    '7',
    '{',
    'null',
    '[{"bytes":3}]',
    '["x"]',
    '{}',
    '[]',
    '[7]',
    text.replace('"7"', '7'),
    text.replace('integer', 'other'),
  ])
    expect([other, placeFromText(other)]).toEqual([other, undefined])
})
