import type { JSX } from 'preact'

/** Where a page of a list stands in it. */
export interface Paging {
  /** Where the next page begins; undefined on the last one. */
  readonly cursor: string | undefined
  /** Whether this is a later page than the first. */
  readonly paged: boolean
}

/** The way to the next page, or the end of the list. */
export function OlderLink({
  path,
  paging: { cursor, paged },
  label = 'Older',
  start = 'Back to the newest',
  end = 'That is all there is.',
}: {
  readonly path: string
  readonly paging: Paging
  readonly label?: string
  /** What leads to the first page. */
  readonly start?: string
  readonly end?: string
}): JSX.Element | null {
  if (cursor === undefined && !paged) return null
  return (
    <nav class="pages" aria-label="Pages">
      {paged ? (
        <a class="button quiet" href={path}>
          {start}
        </a>
      ) : null}
      {cursor === undefined ? (
        <p class="faint">{end}</p>
      ) : (
        <a class="button" rel="next" href={`${path}?after=${encodeURIComponent(cursor)}`}>
          {label} <span aria-hidden="true">→</span>
        </a>
      )}
    </nav>
  )
}
