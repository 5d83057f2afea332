import { expect, test } from 'vitest'
import { backPath } from './back-path.ts'

test.each(['/', '/people/mira', '/?after=abc#e-1', '/entries/x#comment'])('%s is a way back', (path) => {
  expect(backPath(path)).toBe(path)
})

test.each([
  undefined,
  '',
  'people',
  'https://evil.example/',
  '//evil.example',
  '///evil.example',
  '/\\evil.example',
  '/\n/evil.example',
  '/./\\evil.example',
  'javascript:alert(1)',
  `/${'x'.repeat(2001)}`,
])('%j leads home', (text) => {
  expect(backPath(text)).toBe('/')
})
