import type { JSX } from 'preact'
import { MAX_SEARCH_LENGTH } from '../../domain/search/parse-search.ts'

/** The field in the head of every page. Enter sends it. */
export function SearchForm({ text = '' }: { readonly text?: string | undefined }): JSX.Element {
  return (
    <form class="search" role="search" action="/search">
      <input
        type="search"
        name="q"
        id="search"
        aria-label="Search"
        placeholder="Search"
        dir="auto"
        maxLength={MAX_SEARCH_LENGTH}
        value={text}
      />
    </form>
  )
}
