import { describeImport, type ImportResult } from '../../domain/imports/import-file.ts'
import type { Undone } from '../../domain/imports/undo-import.ts'
import type { Notice, NoticeLine } from '../../kinds/session.ts'
import { amountOf } from './imports-list.tsx'

/** Describes the results of the imported files. */
export function noticeOfImport(results: readonly ImportResult[]): Notice {
  return { title: 'Import results', about: '', lines: results.map(lineOf) }
}

function lineOf(result: ImportResult): NoticeLine {
  const text = describeImport(result)
  switch (result.type) {
    case 'refused':
      return { text, refused: true, href: '', label: '' }
    case 'undone':
      return { text, refused: false, href: '', label: '' }
    case 'feed':
      return { text, refused: false, href: `/sources/${result.stored.sourceId}`, label: 'Read it' }
    case 'opml':
      return { text, refused: false, href: '/sources', label: 'See the sources' }
  }
}

/** Describes the result of undoing an import. */
export function noticeOfUndo(undone: Undone): Notice {
  const { keptEntries, sourcesBeingFetched, mayGoOn } = undone
  const deleted = amountOf(undone)
  const kept =
    keptEntries === 0
      ? ''
      : keptEntries === 1
        ? ' One entry stays because others have commented on it or like it.'
        : ` ${keptEntries} entries stay because others have commented on them or like them.`
  const fetched =
    sourcesBeingFetched === 0
      ? ''
      : sourcesBeingFetched === 1
        ? ' One source stays because the site is fetching it just now.'
        : ` ${sourcesBeingFetched} sources stay because the site is fetching them just now.`
  const more = mayGoOn
    ? ' The import may still run. If it is still in the list in a minute, undo it again.'
    : ''
  const text = `${deleted === '' ? 'Nothing was deleted.' : `Deleted: ${deleted}.`}${kept}${fetched}${more}`
  const title = deleted === '' && keptEntries + sourcesBeingFetched > 0 ? 'Not undone:' : 'Undone:'
  return { title, about: undone.import.title, lines: [{ text, refused: false, href: '', label: '' }] }
}
