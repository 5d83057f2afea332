import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { expect, test } from 'vitest'
import { LikesLine } from './likes-line.tsx'

test.each([
  [1, false, '1 person likes this'],
  [3, false, '3 people like this'],
  [2, true, 'You and 1 other like this'],
  [1, true, 'You like this'],
])('%s likes without names, with the own one: %s, are “%s”', (total, liked, text) => {
  const line = h(LikesLine, { likes: { items: [], total }, liked, viewer: undefined })
  expect(renderToString(line).replace(/<[^>]+>/g, '')).toBe(text)
})
