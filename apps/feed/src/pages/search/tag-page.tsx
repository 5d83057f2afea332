import type { JSX } from 'preact'
import type { Card } from '../../domain/entries/cards.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { EntryList } from '../../ui/entries/entry-card.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import { OlderLink, type Paging } from '../../ui/older-link.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import { tagPath } from '../../ui/entries/tag-path.ts'
import { isolated } from '../../text/isolated.ts'

export interface TagPageProps {
  readonly ctx: PageContext
  readonly tag: string
  readonly cards: readonly Card[]
  readonly paging: Paging
}

/** The newest entries with a tag. */
export function TagPage({ ctx, tag, cards, paging }: TagPageProps): JSX.Element {
  return (
    <Layout ctx={ctx} title={isolated(`#${tag}`)} search={`tag:"${tag}" `}>
      <h1 class="page-title">
        <bdi>#{tag}</bdi>
      </h1>
      {cards.length === 0 ? (
        <EmptyState ctx={ctx} paged={paging.paged} title="Nothing with this tag">
          <p>
            No entry has this tag. <a href="/search">Search</a> for a word instead.
          </p>
        </EmptyState>
      ) : (
        <EntryList ctx={ctx} cards={cards} />
      )}
      <OlderLink path={tagPath(tag)} paging={paging} />
    </Layout>
  )
}
