import type { JSX } from 'preact'

/** Where a page of a list stands in it. */
export interface Paging {
  /** Leads to the next page; undefined on the last one. */
  readonly cursor?: string | undefined
  /** Leads to the page before; undefined on the first one. */
  readonly previous?: string | undefined
  /** Whether this is a later page than the first. */
  readonly paged: boolean
}

/** The ways to the page before and the next one, or the end of the list. */
export function OlderLink({
  path,
  paging: { cursor, previous, paged },
  label = 'Older',
  before = 'Newer',
  start = 'Back to the newest',
  end = 'That is all there is.',
}: {
  readonly path: string
  readonly paging: Paging
  readonly label?: string
  /** What leads to the page before. */
  readonly before?: string
  /** What leads to the first page. */
  readonly start?: string
  readonly end?: string
}): JSX.Element | null {
  if (cursor === undefined && !paged) return null
  const pageAt = (place: string): string => `${path}?after=${encodeURIComponent(place)}`
  return (
    <nav class="pages" aria-label="Pages">
      {paged ? (
        <a class="button quiet" href={path}>
          {start}
        </a>
      ) : null}
      {previous === undefined ? null : (
        <a class="button" rel="prev" href={pageAt(previous)}>
          <span aria-hidden="true">←</span> {before}
        </a>
      )}
      {cursor === undefined ? (
        <p class="faint">{end}</p>
      ) : (
        <a class="button" rel="next" href={pageAt(cursor)}>
          {label} <span aria-hidden="true">→</span>
        </a>
      )}
    </nav>
  )
}
