import { expect, test } from 'vitest'
import { parseSearch, type Search } from './parse-search.ts'

const NOTHING: Search = {
  terms: [],
  phrases: [],
  from: undefined,
  source: undefined,
  tags: [],
  media: undefined,
  since: undefined,
  before: undefined,
}

test.each<[string, Partial<Search>]>([
  ['Cold Dough', { terms: ['cold', 'dough'] }],
  ['"cold dough" oven', { terms: ['cold', 'dough', 'oven'], phrases: ['cold dough'] }],
  ['“Cold dough', { terms: ['cold', 'dough'], phrases: ['cold dough'] }],
  ['from:mira tag:#Bréad tag:ovens tag:bread', { from: 'mira', tags: ['bread', 'ovens'] }],
  ['FROM:Mira has:Image fog', { from: 'Mira', media: 'image', terms: ['fog'] }],
  [
    'source:"The Early Loaf" since:2026-02-01 before:2026-03-01',
    { source: 'The Early Loaf', since: new Date('2026-02-01'), before: new Date('2026-03-01') },
  ],
  ['10:45 train', { terms: ['10', '45', 'train'] }],
])('the search %s is understood', (text, search) => {
  expect(parseSearch(text)).toEqual({ ok: true, search: { ...NOTHING, ...search } })
})

test.each([
  ['', 'Give a word, a tag, a person or a source to search for.'],
  ['before:2026-01-01', 'Give a word, a tag, a person or a source to search for.'],
  ['" "', 'Give a word, a tag, a person or a source to search for.'],
  ['from: fog', 'from: needs a value, such as from:mira.'],
  ['from:a from:b', 'A search has one from: at most.'],
  ['has:smell fog', 'has: takes text, link, image, audio, video; got “smell”.'],
  ['fog before:2026-02-30', 'before: takes a day such as 2026-11-26; got “2026-02-30”.'],
  ['a b c d e f g h i', 'A search has at most 8 words, tags and names; this one has 9.'],
  ['a b c d e f from:x source:y tag:z', 'A search has at most 8 words, tags and names; this one has 9.'],
  ['tag:# fog', 'tag: needs a value, such as tag:bread.'],
  ['x'.repeat(201), 'A search has at most 200 characters; this one has 201.'],
])('the search “%.40s” is refused with a reason', (text, reason) => {
  expect(parseSearch(text)).toEqual({ ok: false, reason })
})
