import type { JSX } from 'preact'

/** Position of a page in its list. */
export interface Paging {
  /** Cursor of the next page; undefined on the last one. */
  readonly cursor?: string | undefined
  /** Cursor of the previous page; undefined on the first one. */
  readonly previous?: string | undefined
  /** True for any page but the first. */
  readonly paged: boolean
  /** Name of the cursor in the address. Default: `after`. */
  readonly by?: 'after' | 'before'
}

/** Links to the previous and the next page, or a note at the end of the list. */
export function OlderLink({
  path,
  paging: { cursor, previous, paged, by = 'after' },
  label = 'Older',
  before = 'Newer',
  start = 'Back to the newest',
  end = 'End of the list.',
}: {
  readonly path: string
  readonly paging: Paging
  readonly label?: string
  /** Label of the link to the previous page. */
  readonly before?: string
  /** Label of the link to the first page. */
  readonly start?: string
  readonly end?: string
}): JSX.Element | null {
  if (cursor === undefined && !paged) return null
  const pageAt = (after: string): string =>
    `${path}${path.includes('?') ? '&' : '?'}${by}=${encodeURIComponent(after)}`
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
