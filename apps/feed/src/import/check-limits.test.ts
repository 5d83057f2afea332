import { expect, test } from 'vitest'
import { checkJsonLimits, checkXmlLimits } from './check-limits.ts'
import { DEEPEST, MOST_ATTRIBUTES, MOST_ATTRIBUTES_OF_ONE, MOST_ELEMENTS } from './limits.ts'

const attributes = (count: number): string => Array.from({ length: count }, (_, i) => ` a${i}="1"`).join('')

test('what is at a limit is taken', () => {
  checkXmlLimits(`<a>${'<b/>'.repeat(MOST_ELEMENTS - 1)}</a>`)
  checkXmlLimits(`${'<a>'.repeat(DEEPEST)}${'</a>'.repeat(DEEPEST)}<b><c/></b>`)
  checkXmlLimits(`<a${attributes(MOST_ATTRIBUTES_OF_ONE)}/><b${attributes(MOST_ATTRIBUTES_OF_ONE)}/>`)
  checkJsonLimits(`[${'{},'.repeat(MOST_ELEMENTS - 2)}{}]`)
  checkJsonLimits(`${'['.repeat(DEEPEST)}${']'.repeat(DEEPEST)}[[]]`)
})

test.each([
  ['elements', `<a>${'<b/>'.repeat(MOST_ELEMENTS)}</a>`, 'The file has more than 200,000 elements.'],
  ['depth', '<a>'.repeat(DEEPEST + 1), 'The file has elements that are nested more than 200 deep.'],
  [
    'attributes of one',
    `<a${attributes(MOST_ATTRIBUTES_OF_ONE + 1)}/>`,
    'The file has an element of more than 200 attributes.',
  ],
  [
    'attributes',
    `<a${attributes(100)}/>`.repeat(MOST_ATTRIBUTES / 100 + 1),
    'The file has more than 200,000 attributes.',
  ],
])('XML beyond a limit is refused: %s', (_, source, message) => {
  expect(() => checkXmlLimits(source)).toThrow(message)
})

test.each([
  ['elements', `[${'{},'.repeat(MOST_ELEMENTS)}{}]`, 'The file has more than 200,000 elements.'],
  ['depth', '['.repeat(DEEPEST + 1), 'The file has elements that are nested more than 200 deep.'],
])('JSON beyond a limit is refused: %s', (_, source, message) => {
  expect(() => checkJsonLimits(source)).toThrow(message)
})

test('text is not counted, whatever it looks like', () => {
  const tags = '<b x="1">'.repeat(MOST_ELEMENTS + 1)
  checkXmlLimits(`<a><![CDATA[${tags}]]><!--${tags}--></a>`)
  checkJsonLimits(JSON.stringify({ text: `\\"${'["'.repeat(MOST_ELEMENTS + 1)}` }))
})

test('what breaks off is no trouble', () => {
  for (const source of ['<a b="', '<a', '<!--', '</', '"', '{"a\\']) {
    checkXmlLimits(source)
    checkJsonLimits(source)
  }
})
