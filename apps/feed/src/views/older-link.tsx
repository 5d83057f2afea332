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
  end = 'That is all there is. You have reached the first page of the binder.',
}: {
  readonly path: string
  readonly paging: Paging
  readonly label?: string
  readonly end?: string
}): JSX.Element | null {
  if (cursor === undefined && !paged) return null
  return (
    <nav class="pages" aria-label="Pages">
      {paged ? (
        <a class="button quiet" href={path}>
          Back to the top
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
