import type { JSX } from 'preact'
import type { PageContext } from '../page-context.ts'

/** Says that the page lacks something, because shards do not answer. Empty on a complete page. */
export function MissingBar({ ctx }: { readonly ctx: PageContext }): JSX.Element | null {
  const { missingShards, unknownViewer, window } = ctx
  if (missingShards.length === 0) return null
  // Names of shards concern those alone who may look into the store.
  const names = window === undefined ? '' : ` (${missingShards.join(', ')})`
  return (
    <p class="missing" role="status">
      A part of the store{names} does not answer: some entries, comments and names may be missing.
      {unknownViewer
        ? ' Your account is there, so this page is as a visitor sees it; you are still signed in.'
        : ''}
    </p>
  )
}
