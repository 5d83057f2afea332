import { expect, test } from 'vitest'
import { plainTextOf, tidyLine, tidyText } from './plain-text.ts'

test('HTML becomes its visible text', () => {
  const html =
    '<p>Tom &amp; <b>Ann</b></p><script>alert(1)</script><p>a &lt; b<br>c&nbsp;d</p><style>p{}</style>'
  expect(plainTextOf(html, 200)).toBe('Tom & Ann\na < b\nc d')
})

test('text that looks like a tag after decoding stays text', () => {
  expect(plainTextOf('&lt;script&gt;alert(1)&lt;/script&gt;', 200)).toBe('<script>alert(1)</script>')
  expect(plainTextOf('&amp;lt;', 200)).toBe('&lt;')
})

test('markup that was escaped twice becomes text if it begins the text', () => {
  const twice =
    '&lt;!-- x --&gt;&lt;div class=&quot;a&quot;&gt;&lt;p&gt;Tom &amp;amp; Ann&lt;/p&gt;&lt;/div&gt; by <a href="/">me</a>'
  expect(plainTextOf(twice, 200)).toBe('Tom & Ann\n\nby me')
  for (const told of [
    '&lt;p&gt; or &lt;div&gt;?',
    'Use &lt;p&gt;a&lt;/p&gt;',
    '<pre>&lt;p&gt;a&lt;/p&gt;</pre>',
  ])
    expect(plainTextOf(told, 200)).toMatch(/<p>/)
})

test('broken and deeply nested HTML becomes text', () => {
  expect(plainTextOf('<p>a<b>c</p><img src=x onerror=alert(1)> d <', 200)).toContain('ac')
  expect(plainTextOf(`${'<div>'.repeat(30_000)}deep`, 200)).toContain('deep')
})

test('long texts are cut at a word, with an ellipsis', () => {
  expect(tidyText('one two three four', 12)).toBe('one two…')
  expect(tidyText(`${'x'.repeat(9)}😀`, 10)).toBe('xxxxxxxxx😀'.slice(0, 9).concat('…'))
  expect(tidyText('short', 5)).toBe('short')
})

test('control characters, lone surrogates and hidden direction marks are removed', () => {
  expect(tidyText('a\u0000b\u202ec\ud800d\r\n\r\n\r\n\r\ne', 50)).toBe('abc\ufffdd\n\ne')
  expect(tidyLine('a\n\n b', 50)).toBe('a b')
})

test('a text of invisible characters alone is empty, and an emoji of several characters stays whole', () => {
  for (const invisible of ['\u2060', '\u3164\u115f', '\u2800 \u00ad', '\u200d\ufe0f'])
    expect(tidyText(invisible, 100)).toBe('')
  expect(tidyText('👩\u200d🚀 ❤\ufe0f', 100)).toBe('👩\u200d🚀 ❤\ufe0f')
})
