import { expect, test } from 'vitest'
import { freshPart, isPast, partFromText, partToText } from './part.ts'
import { placeFromText, placeToText } from './place-text.ts'
import { windowFromText, windowToText } from './tail-window.ts'

test('a place comes back as it was, with every type of column', () => {
  const place = {
    key: [Buffer.from([0, 255]), -(2n ** 63n), 2n ** 63n - 1n, 0.1, -5e-324, Buffer.alloc(0)],
    entityId: Buffer.alloc(16, 7),
  }
  expect(placeFromText(placeToText(place))).toEqual(place)
})

test('a part and a window come back as they were', () => {
  const part = { ...freshPart('run'), phase: 'check' as const, addedId: 12, missing: 3, rounds: 1 }
  part.tally.added = 4
  expect(partFromText(partToText(part))).toEqual(part)
  const window = { seenUntil: 5, lookedBackAt: 4, gap: { since: 1, before: { updated: 3, addedId: 2 } } }
  expect(windowFromText(windowToText(window))).toEqual(window)
  const whole = { seenUntil: 5, lookedBackAt: 4, gap: undefined }
  expect(windowFromText(windowToText(whole))).toEqual(whole)
})

test.each(['', '{', 'null', '[]', '7', '{"run":1}', '{"run":"a","stage":"later"}', '[{"bytes":3}]', '["x"]'])(
  'another text means to begin anew: %s',
  (text) => {
    expect(partFromText(text)).toBeUndefined()
    expect(placeFromText(text)).toBeUndefined()
    expect(windowFromText(text)).toBeUndefined()
  },
)

test('a phase is past when a later one is under way', () => {
  const part = freshPart('run')
  expect(isPast(part, 'entities')).toBe(false)
  expect(isPast({ ...part, phase: 'dangling' }, 'entities')).toBe(true)
  expect(isPast({ ...part, phase: 'dangling' }, 'check')).toBe(false)
  expect(isPast({ ...part, phase: 'done' }, 'check')).toBe(true)
})
