import type { ComponentChildren, JSX } from 'preact'
import type { PageContext } from './page-context.ts'

/**
 * Replaces an empty list. If a part of the store does not answer, the list may have items, so it says only that. A page behind the first is
 * empty if the items after its address were deleted.
 */
export function EmptyState({
  ctx,
  title,
  paged = false,
  children,
}: {
  readonly ctx: PageContext
  readonly title: string
  /** True for any page but the first. Default: false. */
  readonly paged?: boolean
  readonly children: ComponentChildren
}): JSX.Element {
  const isMissing = ctx.missingShards.length > 0
  return (
    <section class="empty">
      <svg viewBox="0 0 64 64" aria-hidden="true" focusable="false">
        <rect x="14" y="6" width="42" height="52" rx="4" />
        <path d="M8 18h12M8 32h12M8 46h12M28 20h20M28 30h20M28 40h12" />
      </svg>
      <h2>{isMissing ? 'Nothing could be read' : paged ? 'Nothing more' : title}</h2>
      {isMissing ? (
        <p>Load the page again in a little while.</p>
      ) : paged ? (
        <p>The list ends before this page.</p>
      ) : (
        children
      )}
    </section>
  )
}
