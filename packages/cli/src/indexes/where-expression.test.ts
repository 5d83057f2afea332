import { defineIndex } from '@looseleaf/index-engine'
import { expect, test } from 'vitest'
import { parseWhere } from './where-expression.ts'

const index = defineIndex('everything', {
  properties: {
    user: 'uuid',
    title: 'string',
    'title=x': 'integer',
    score: 'number',
    isPublic: 'boolean',
    published: 'time',
    tags: 'string[]',
  },
  shardOn: 'user',
})

test.each([
  ['user=0192F0C1-7C1E-7ABC-8DEF-0123456789AB', { user: '0192f0c1-7c1e-7abc-8def-0123456789ab' }],
  ['title=a=b > c', { title: 'a=b > c' }],
  ['title=', { title: '' }],
  ['title>=m', { title: { gte: 'm' } }],
  ['title^=How ', { title: { startsWith: 'How ' } }],
  ['title=^', { title: '^' }],
  ['title is null', { title: null }],
  ['title= is null', { title: ' is null' }],
  ['title=x=7', { 'title=x': 7 }],
  ['title=x>-9007199254740993', { 'title=x': { gt: -9007199254740993n } }],
  ['score<1.5e3', { score: { lt: 1500 } }],
  ['score=-.5', { score: -0.5 }],
  ['isPublic=true', { isPublic: true }],
  ['isPublic=false', { isPublic: false }],
  ['published>=2009-02-27', { published: { gte: new Date('2009-02-27T00:00:00Z') } }],
  ['published<2008-02-29', { published: { lt: new Date('2008-02-29T00:00:00Z') } }],
  ['published<=2009-03-01T00:30+01:00', { published: { lte: new Date('2009-02-28T23:30:00Z') } }],
  ['published<=2009-02-27T12:30+01:00', { published: { lte: new Date('2009-02-27T11:30:00Z') } }],
  ['tags=databases', { tags: 'databases' }],
])('%s', (expression, where) => {
  expect(parseWhere(index, [expression])).toEqual(where)
})

test('two bounds of one property make a range, beside values for others', () => {
  expect(parseWhere(index, ['title=x', 'score>=1', 'score<2'])).toEqual({
    title: 'x',
    score: { gte: 1, lt: 2 },
  })
})

test('several values of one property make a list, and a comma is a part of its value', () => {
  expect(
    parseWhere(index, ['title=a,b', 'score=1', 'title=c', 'score=2', 'title=a,b', 'isPublic=true']),
  ).toEqual({
    title: { in: ['a,b', 'c', 'a,b'] },
    score: { in: [1, 2] },
    isPublic: true,
  })
})

test.each([
  [['colour=red'], 'Index everything has no property "colour"; its properties are user, title, '],
  [['colour>=red'], 'Index everything has no property "colour"; its'],
  [['colour is null'], 'Index everything has no property "colour"; its'],
  [['titel=a>b'], 'Index everything has no property "titel"; its'],
  [['title'], 'a condition is a property'],
  [['title'], 'Got "title".'],
  [['title!x'], 'Got "title!x".'],
  [['=x'], 'Got "=x".'],
  [['user=me'], 'user is of type uuid'],
  [['title=x=1.5'], 'title=x is of type integer: a whole number is expected; got "1.5".'],
  [['score=NaN'], 'score is of type number: a number such as 1.5 is expected; got "NaN".'],
  [['score='], 'score is of type number'],
  [['score=0x10'], 'score is of type number'],
  [['isPublic=yes'], 'isPublic is of type boolean'],
  [['published=yesterday'], 'published is of type time'],
  [['published=2009-02-27T12:30'], 'a time with a zone'],
  [['published=2009-13-27'], 'published is of type time'],
  [['published<2009-02-29'], 'published is of type time'],
  [['published<=2009-04-31T12:30+01:00'], 'published is of type time'],
  [['score=1', 'score=two'], 'score is of type number'],
  [['score=1', 'score=2', 'score>2'], 'a second condition'],
  [['score=1', 'score>2'], 'a second condition'],
  [['score>1', 'score=2'], 'a second condition'],
  [['score>1', 'score>=2'], 'two lower bounds'],
  [['score<1', 'score<=2'], 'two upper bounds'],
])('%j is refused', (expressions, words) => {
  expect(() => parseWhere(index, expressions)).toThrow(expect.objectContaining({ code: 'BAD_QUERY' }))
  expect(() => parseWhere(index, expressions)).toThrow(words)
})
