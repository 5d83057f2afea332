import { expect, test } from 'vitest'
import type { Undone } from '../../domain/imports/undo-import.ts'
import { noticeOfUndo } from './import-notices.ts'

function undone(numbers: Partial<Undone>): Undone {
  const about = { id: 'a' as Undone['import']['id'], version: 1, title: 'My list', format: 'OPML' }
  const of = { ...about, entries: 0, sources: 3, imported: new Date() }
  return {
    import: of,
    entries: 0,
    sources: 0,
    keptEntries: 0,
    sourcesBeingFetched: 0,
    mayGoOn: false,
    ...numbers,
  }
}

test.each<[Partial<Undone>, string, string]>([
  [{ sources: 3 }, 'Undone:', 'Deleted: 3 sources.'],
  [
    { sources: 2, sourcesBeingFetched: 1 },
    'Undone:',
    'Deleted: 2 sources. One source stays because the site is fetching it just now.',
  ],
  [
    { sourcesBeingFetched: 2 },
    'Not undone:',
    'Nothing was deleted. 2 sources stay because the site is fetching them just now.',
  ],
  [
    { entries: 5, mayGoOn: true },
    'Undone:',
    'Deleted: 5 entries. The import may still run. If it is still in the list in a minute, undo it again.',
  ],
])('the notice of an undo with %j says what stays, and why', (numbers, title, text) => {
  expect(noticeOfUndo(undone(numbers))).toMatchObject({ title, about: 'My list', lines: [{ text }] })
})
