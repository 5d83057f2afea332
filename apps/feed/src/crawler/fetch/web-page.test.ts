import { expect, test } from 'vitest'
import { reasonOfPage } from './web-page.ts'

const SIGN_IN = 'It answers with a page to sign in, and not with a feed.'

test.each([
  '<input type=password>',
  '<form><INPUT name="p" TYPE="Password"/></form>',
  '<input data-if="a > b" type="password">',
])('a page with %s is one to sign in', (html) => {
  expect(reasonOfPage(html)).toBe(SIGN_IN)
})

test.each([
  '<input type="text"> <p>type=password</p>',
  '<p type="password">',
  `<script>'<input type=password>'</script>`,
])('a page with %s is none to sign in', (html) => {
  expect(reasonOfPage(html)).toBe('It answers with a web page, and not with a feed.')
})

test('a long page of tags without an end is read once', () => {
  // A search for the end of each tag would read the rest of the page for each, which takes minutes.
  expect(reasonOfPage('<input'.repeat(170_000))).toBe('It answers with a web page, and not with a feed.')
  expect(reasonOfPage('<input '.repeat(140_000))).not.toBe(SIGN_IN)
})
