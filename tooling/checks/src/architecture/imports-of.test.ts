import { expect, test } from 'vitest'
import { importsOf, packageOf } from './imports-of.ts'

test('the reader finds every kind of import and export, including types and several lines', () => {
  const source = `
import a from 'one'
import type { B } from "two"
export { c } from 'three'
import {
  d,
  e,
} from '@four/five/six'
import 'seven'
const f = await import('eight')
`
  expect(importsOf(source)).toEqual([
    { specifier: 'one', line: 2 },
    { specifier: 'two', line: 3 },
    { specifier: 'three', line: 4 },
    { specifier: '@four/five/six', line: 8 },
    { specifier: 'seven', line: 9 },
    { specifier: 'eight', line: 10 },
  ])
})

test('methods named like the keywords are no imports', () => {
  const source = `
const a = Buffer.from('one')
const b = from('two')
throw new Error('one comes from ' + "three")
export const c = 1
`
  expect(importsOf(source)).toEqual([])
})

test('imports in comments do not count, and a URL in a string is no comment', () => {
  const source = `
// import a from 'one'
/** import b from 'two' */
const url = 'http://host'
import c from 'three'
const text = \`
import d from 'four'
\`
`
  expect(importsOf(source).map(({ specifier }) => specifier)).toEqual(['three'])
})

test('the package of a specifier has no path', () => {
  expect(['@a/b/c', '@a/b', 'a/b', 'a'].map(packageOf)).toEqual(['@a/b', '@a/b', 'a', 'a'])
})
