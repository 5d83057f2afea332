import { expect, test } from 'vitest'
import { checkJsonLimits, checkXmlLimits } from './check-limits.ts'
import {
  MAX_ATTRIBUTES,
  MAX_ATTRIBUTES_PER_ELEMENT,
  MAX_DECLARATIONS,
  MAX_DEPTH,
  MAX_ELEMENTS,
} from './limits.ts'

const attributes = (count: number): string => Array.from({ length: count }, (_, i) => ` a${i}="1"`).join('')
const entities = (count: number): string =>
  Array.from({ length: count }, (_, i) => `<!ENTITY e${i} "value">`).join('')

test('a file exactly at a limit is accepted', () => {
  checkXmlLimits(`<a>${'<b/>'.repeat(MAX_ELEMENTS - 1)}</a>`)
  checkXmlLimits(`${'<a>'.repeat(MAX_DEPTH)}${'</a>'.repeat(MAX_DEPTH)}<b><c/></b>`)
  checkXmlLimits(`<a${attributes(MAX_ATTRIBUTES_PER_ELEMENT)}/><b${attributes(MAX_ATTRIBUTES_PER_ELEMENT)}/>`)
  checkXmlLimits(`<?xml version="1.0"?><!DOCTYPE a [${entities(MAX_DECLARATIONS)}]><a/>`)
  checkJsonLimits(`[${'{},'.repeat(MAX_ELEMENTS - 2)}{}]`)
  checkJsonLimits(`${'['.repeat(MAX_DEPTH)}${']'.repeat(MAX_DEPTH)}[[]]`)
})

test.each([
  ['elements', `<a>${'<b/>'.repeat(MAX_ELEMENTS)}</a>`, 'The file has more than 200,000 elements.'],
  ['depth', '<a>'.repeat(MAX_DEPTH + 1), 'The file has elements that are nested more than 200 deep.'],
  [
    'attributes of one',
    `<a${attributes(MAX_ATTRIBUTES_PER_ELEMENT + 1)}/>`,
    'The file has an element of more than 200 attributes.',
  ],
  [
    'attributes',
    `<a${attributes(100)}/>`.repeat(MAX_ATTRIBUTES / 100 + 1),
    'The file has more than 200,000 attributes.',
  ],
  [
    'declarations',
    `<!DOCTYPE a [${entities(MAX_DECLARATIONS + 1)}]><a/>`,
    'The file has more than 1,000 declarations.',
  ],
])('XML beyond a limit is refused: %s', (_, source, message) => {
  expect(() => checkXmlLimits(source)).toThrow(message)
})

test.each([
  ['elements', `[${'{},'.repeat(MAX_ELEMENTS)}{}]`, 'The file has more than 200,000 elements.'],
  ['depth', '['.repeat(MAX_DEPTH + 1), 'The file has elements that are nested more than 200 deep.'],
])('JSON beyond a limit is refused: %s', (_, source, message) => {
  expect(() => checkJsonLimits(source)).toThrow(message)
})

test('tags inside text are not counted as elements', () => {
  const tags = '<b x="1">'.repeat(MAX_ELEMENTS + 1)
  checkXmlLimits(`<a><![CDATA[${tags}]]><!--${tags}--></a>`)
  checkJsonLimits(JSON.stringify({ text: `\\"${'["'.repeat(MAX_ELEMENTS + 1)}` }))
})

test('a truncated file passes the limits and is reported as truncated', () => {
  for (const source of ['<a b="', '<a', '<!--', '</', '"', '{"a\\']) {
    checkXmlLimits(source)
    checkJsonLimits(source)
  }
})
