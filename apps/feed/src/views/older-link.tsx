import type { JSX } from 'preact'

/** The way to the next page, or the end of the list. */
export function OlderLink({
  path,
  cursor,
  paged,
  label = 'Older',
  end = 'That is all there is. You have reached the first page of the binder.',
}: {
  readonly path: string
  readonly cursor: string | undefined
  /** Whether this is a later page already. */
  readonly paged: boolean
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
