import type { JSX } from 'preact'
import type { HomeCards } from '../../domain/home/home-page.ts'
import type { HomeOrder } from '../../domain/home/home-list.ts'
import { HOME_LIMIT } from '../../kinds/inbox-item.ts'
import type { MediaKind } from '../../kinds/entry.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { CARD_TAB_INDEX, EntryCard } from '../../ui/entries/entry-card.tsx'
import { EMPTY_FORM } from '../../ui/form-parts.tsx'
import { HideButton } from '../../ui/entries/hide-button.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import { OlderLink, type Paging } from '../../ui/older-link.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import { Composer } from './composer.tsx'
import { HiddenNotice } from './hidden-notice.tsx'
import { HomeTools } from './home-tools.tsx'
import { HomeReason } from './home-reason.tsx'
import { Suggestions } from './suggestions.tsx'
import { UnreadList } from './unread-list.tsx'

export interface HomePageProps {
  readonly ctx: PageContext
  readonly home: HomeCards
  readonly order: HomeOrder
  readonly media: MediaKind | undefined
  /** Time of the last delivery that the page shows, for the form that marks all as read. */
  readonly seenUpTo: Date
  /** True if older entries are left out. */
  readonly isFull: boolean
  readonly paging: Paging
}

/** The home page of a signed-in person: entries of the people and sources that the person follows. */
export function HomePage(props: HomePageProps): JSX.Element {
  const { ctx, home, order, media, seenUpTo, isFull, paging } = props
  const { cards, justHidden } = home
  const path = media === undefined ? '/' : `/?media=${media}`
  return (
    <Layout
      ctx={ctx}
      title={paging.paged ? 'Older entries' : ''}
      section="home"
      side={<Beside ctx={ctx} home={home} />}
      live={paging.paged ? undefined : { since: seenUpTo, media }}
    >
      <h1 class={paging.paged ? 'page-title' : 'unseen'}>{paging.paged ? 'Older entries' : 'Home'}</h1>
      {paging.paged ? null : <Composer ctx={ctx} form={EMPTY_FORM} />}
      <HomeTools ctx={ctx} order={order} media={media} seenUpTo={seenUpTo} />
      {justHidden === undefined ? null : <HiddenNotice ctx={ctx} entry={justHidden} />}
      {cards.length === 0 && !paging.paged ? (
        <NoEntries ctx={ctx} media={media} />
      ) : (
        <ol class="entries">
          {cards.map((card) => (
            <li key={card.entry.id} class={card.isUnread ? 'unread' : undefined}>
              <EntryCard
                ctx={ctx}
                card={card}
                reason={<HomeReason ctx={ctx} card={card} />}
                acts={<HideButton entry={card.entry} back={ctx.path} tabIndex={CARD_TAB_INDEX} />}
              />
            </li>
          ))}
        </ol>
      )}
      <OlderLink path={path} paging={paging} end="" />
      {paging.cursor === undefined && cards.length > 0 && ctx.missingShards.length === 0 ? (
        <EndOfHome isFull={isFull} />
      ) : null}
    </Layout>
  )
}

function Beside({ ctx, home }: Pick<HomePageProps, 'ctx' | 'home'>): JSX.Element {
  return (
    <>
      <UnreadList ctx={ctx} unread={home.unread} moreUnread={home.moreUnread} />
      <Suggestions ctx={ctx} people={home.suggested} />
    </>
  )
}

function NoEntries({ ctx, media }: Pick<HomePageProps, 'ctx' | 'media'>): JSX.Element {
  return (
    <EmptyState ctx={ctx} title={media === undefined ? 'Nothing here yet' : 'Nothing of this kind'}>
      <p>
        {media === undefined ? (
          <>
            Entries of the people and sources that you follow come here. Look at{' '}
            <a href="/everything">everything on this site</a>, find <a href="/people">people</a> and{' '}
            <a href="/sources">sources</a>, or <a href="/import">import a feed</a>.
          </>
        ) : (
          <a href="/">Show entries of all kinds</a>
        )}
      </p>
    </EmptyState>
  )
}

function EndOfHome({ isFull }: Pick<HomePageProps, 'isFull'>): JSX.Element {
  return (
    <p class="faint">
      {isFull
        ? `These are the latest ${HOME_LIMIT} entries.`
        : 'These are all entries that have come to you.'}{' '}
      Others are on the pages of <a href="/people">people</a> and <a href="/sources">sources</a>, and in{' '}
      <a href="/everything">everything on this site</a>.
    </p>
  )
}
