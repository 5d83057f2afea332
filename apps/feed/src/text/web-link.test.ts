import { expect, test } from 'vitest'
import { hostOf, typedLink, webLink } from './web-link.ts'

test('a link has one normal form, without tracking and credentials', () => {
  expect(webLink(' HTTPS://User:pw@Example.ORG:443/a/../b?utm_source=x&q=1&UTM_Medium=y# ')).toBe(
    'https://example.org/b?q=1',
  )
  expect(webLink('http://example.org')).toBe('http://example.org/')
})

test('a relative link needs a base', () => {
  expect(webLink('/a', 'https://example.org/feed.xml')).toBe('https://example.org/a')
  expect(webLink('../a', 'https://example.org/x/y/')).toBe('https://example.org/x/a')
  expect(webLink('/a')).toBeUndefined()
  expect(webLink('/a', 'not a base')).toBeUndefined()
})

test.each([
  'javascript:alert(1)',
  ' JaVaScript:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,x',
  'mailto:a@b.c',
  'file:///etc/passwd',
  'https://',
  '',
  undefined,
  `https://example.org/${'a'.repeat(2000)}`,
])('%s is not accepted as a link', (text) => {
  expect(webLink(text)).toBeUndefined()
  if (text?.includes(':') && !text.startsWith('https'))
    expect(webLink(text, 'https://example.org/')).toBeUndefined()
})

test.each([
  ['example.org/a', 'https://example.org/a'],
  ['http://bücher.example', 'http://xn--bcher-kva.example/'],
  ['http://[::1]:8080/', 'http://[::1]:8080/'],
  ['my_host.example', 'https://my_host.example/'],
  ['ht!tp://example.org', undefined],
  ['(example.org)', undefined],
  ['two words', undefined],
])('the typed address %s is the link %s', (typed, link) => {
  expect(typedLink(typed)).toBe(link)
})

test('a link’s host is shown without www', () => {
  expect(hostOf('https://www.example.org/a')).toBe('example.org')
  expect(hostOf('nonsense')).toBe('')
})
