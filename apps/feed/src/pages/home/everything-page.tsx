import type { JSX } from 'preact'
import type { Card } from '../../domain/entries/cards.ts'
import { EntryList } from '../../ui/entries/entry-card.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import { OlderLink, type Paging } from '../../ui/older-link.tsx'
import type { PageContext } from '../../ui/page-context.ts'

export interface EverythingPageProps {
  readonly ctx: PageContext
  readonly cards: readonly Card[]
  readonly paging: Paging
  /** Path of the page: `/` for visitors who are not signed in. */
  readonly path: '/' | '/everything'
}

/** The newest entries of all people and sources. It is the first page of visitors who are not signed in. */
export function EverythingPage({ ctx, cards, paging, path }: EverythingPageProps): JSX.Element {
  const isFirst = path === '/' && !paging.paged
  return (
    <Layout
      ctx={ctx}
      title={paging.paged ? 'Older entries' : path === '/' ? '' : 'Everything'}
      {...(path === '/' && { section: 'home' })}
      feed={paging.paged ? undefined : '/feed.atom'}
      live={paging.paged || ctx.viewer !== undefined ? undefined : { since: lastArrival(cards) }}
    >
      <h1 class={isFirst ? 'unseen' : 'page-title'}>
        {paging.paged ? 'Older entries' : isFirst ? 'Newest entries' : 'Everything'}
      </h1>
      {paging.paged || ctx.viewer !== undefined || ctx.unknownViewer ? null : <Welcome window={ctx.window} />}
      {cards.length === 0 ? (
        <EmptyState ctx={ctx} paged={paging.paged} title="A fresh, empty page">
          <p>
            Nothing has been published here yet. <a href="/post">Post the first message</a>, or{' '}
            <a href="/import">import a feed</a>.
          </p>
        </EmptyState>
      ) : (
        <EntryList ctx={ctx} cards={cards} />
      )}
      <OlderLink path={path} paging={paging} />
    </Layout>
  )
}

function lastArrival(cards: readonly Card[]): Date {
  return new Date(Math.max(0, ...cards.map(({ entry }) => entry.arrived.getTime())))
}

function Welcome({ window }: Pick<PageContext, 'window'>): JSX.Element {
  return (
    <section class="welcome" aria-label="Welcome">
      <p>
        <strong>Everything your people share, on one page.</strong> Their blogs, pictures, bookmarks and
        passing thoughts, with comments and likes. <a href="/sign-in">Sign in as one of them</a>, or{' '}
        <a href="/join">join</a> under your own name.
      </p>
      {window === undefined ? null : (
        <p>
          All data is in a store without a schema, on plain tables of several databases.{' '}
          <a href={window}>Look into the store</a> to see the statements of each page, and to watch what
          happens when a shard breaks.
        </p>
      )}
    </section>
  )
}
