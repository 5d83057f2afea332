import { expect, test } from 'vitest'
import { freshPart, isPast, partFromText, partToText } from './part.ts'

test('a part survives being stored as text', () => {
  const part = { ...freshPart('run'), phase: 'check' as const, addedId: 12, missing: 3, rounds: 1 }
  part.tally.added = 4
  expect(partFromText(partToText(part))).toEqual(part)
})

test('the phase of a part is stored as `stage`', () => {
  const text = partToText({ ...freshPart('run'), phase: 'dangling' })
  expect(JSON.parse(text)).toMatchObject({ run: 'run', stage: 'dangling' })
})

test.each(['', '{', 'null', '[]', '7', '{"run":1}', '{"run":"a","stage":"later"}'])(
  'any other text is no part: %s',
  (text) => {
    expect(partFromText(text)).toBeUndefined()
  },
)

test('a phase is past once a later one has begun', () => {
  const part = freshPart('run')
  expect(isPast(part, 'entities')).toBe(false)
  expect(isPast({ ...part, phase: 'dangling' }, 'entities')).toBe(true)
  expect(isPast({ ...part, phase: 'dangling' }, 'check')).toBe(false)
  expect(isPast({ ...part, phase: 'done' }, 'check')).toBe(true)
})
