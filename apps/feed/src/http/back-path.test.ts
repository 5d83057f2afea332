import { expect, test } from 'vitest'
import { backPath } from './back-path.ts'

test.each(['/', '/people/mira', '/?after=abc#e-1', '/entries/x#comment'])(
  'a form may redirect to %s',
  (path) => {
    expect(backPath(path)).toBe(path)
  },
)

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
])('a form that asks for %j redirects to the home page', (text) => {
  expect(backPath(text)).toBe('/')
})
