import { expect, test } from 'vitest'
import { freshPart, isPast, partFromText, partToText, reopenPhase, type Part } from './part.ts'

test('a part survives being stored as text', () => {
  const part: Part = {
    ...freshPart('run'),
    phase: 'check',
    addedId: 12,
    missing: 3,
    rounds: 1,
    reading: { '-1': '0-76', 4: '97' },
    read: { entities: '0-97', check: '' },
  }
  part.tally.added = 4
  expect(partFromText(partToText(part))).toEqual(part)
})

test('the phase of a part is stored as `stage`', () => {
  const text = partToText({ ...freshPart('run'), phase: 'dangling' })
  expect(JSON.parse(text)).toMatchObject({ run: 'run', stage: 'dangling' })
})

test.each([
  '',
  '{',
  'null',
  '[]',
  '7',
  '{"run":1}',
  '{"run":1,"stage":"check","read":{"entities":"","check":""}}',
  '{"run":"a","stage":"later","read":{"entities":"","check":""}}',
  '{"run":"a","stage":"later"}',
  '{"run":"a","stage":"check"}',
  '{"run":"a","stage":"check","read":{"entities":"9-2","check":""}}',
])('any other text is no part: %s', (text) => {
  expect(partFromText(text)).toBeUndefined()
})

test('a phase is past once a later one has begun', () => {
  const part = freshPart('run')
  expect(isPast(part, 'entities')).toBe(false)
  expect(isPast({ ...part, phase: 'dangling' }, 'entities')).toBe(true)
  expect(isPast({ ...part, phase: 'dangling' }, 'check')).toBe(false)
  expect(isPast({ ...part, phase: 'done' }, 'check')).toBe(true)
})

test.each([
  ['entities', 0],
  ['check', 3],
] as const)('a part that returns to the phase %s has %i duplicates of that phase', (phase, duplicates) => {
  const part: Part = { ...freshPart('run'), phase: 'done', seen: 9, duplicates: 3 }
  reopenPhase(part, phase, { reading: { 4: '97' }, addedId: 12 })
  expect(part).toMatchObject({ phase, reading: { 4: '97' }, addedId: 12, seen: 0, duplicates })
})
