import type { JSX } from 'preact'
import { counted } from '../../text/counted.ts'
import { hostOf } from '../../text/web-link.ts'
import type { Card } from '../../domain/entries/cards.ts'
import type { Following } from '../../domain/following/queries.ts'
import type { Person } from '../../kinds/person.ts'
import type { Source } from '../../kinds/source.ts'
import { Avatar, hueOf } from '../../ui/avatar.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { EntryList } from '../../ui/entries/entry-card.tsx'
import { FollowForm } from '../../ui/follow-form.tsx'
import { Token } from '../../ui/form-parts.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import { OlderLink, type Paging } from '../../ui/older-link.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import { SourceHealth } from './source-health.tsx'
import { isolated } from '../../text/isolated.ts'

export interface SourcePageProps {
  readonly ctx: PageContext
  readonly source: Source
  /** The source that is fetched in place of this one. */
  readonly sameAs: Source | undefined
  readonly owner: Person | undefined
  readonly following: Following
  /** True if the viewer publishes through the source; undefined for a visitor who is not signed in. */
  readonly service: boolean | undefined
  /** Number of its entries; undefined if a shard does not answer. */
  readonly total: number | undefined
  readonly cards: readonly Card[]
  readonly paging: Paging
}

export function SourcePage(props: SourcePageProps): JSX.Element {
  const { ctx, source, sameAs, owner, following, service, total, cards, paging } = props
  // A source that is fetched for another one brings nothing new.
  const isOffered = sameAs === undefined
  return (
    <Layout ctx={ctx} title={isolated(source.title)} section="sources">
      <header class="profile">
        <Avatar label={source.title} hue={hueOf(source.title)} shape="source" />
        <div>
          <h1 dir="auto">{source.title}</h1>
          {source.about === '' ? null : <p dir="auto">{source.about}</p>}
          <p class="faint">
            {total === undefined ? 'Entries' : counted(total, 'entry')}
            {owner === undefined ? null : (
              <>
                , brought in by{' '}
                <a href={`/people/${owner.name}`}>
                  <bdi>{owner.full_name}</bdi>
                </a>
              </>
            )}
            <From source={source} />
          </p>
          {isOffered || following.followed === true ? (
            <FollowForm ctx={ctx} channelId={source.id} following={following} />
          ) : null}
          {service === undefined || (!isOffered && !service) ? null : (
            <ServiceForm ctx={ctx} source={source} service={service} />
          )}
        </div>
      </header>
      <SourceHealth ctx={ctx} source={source} sameAs={sameAs} />
      {cards.length === 0 ? (
        <EmptyState ctx={ctx} paged={paging.paged} title="No entries from here yet">
          <p>The entries of this source appear here once it has any.</p>
        </EmptyState>
      ) : (
        <EntryList ctx={ctx} cards={cards} />
      )}
      <OlderLink path={`/sources/${source.id}`} paging={paging} />
    </Layout>
  )
}

/** Makes the source a service of the viewer, or ends that. */
function ServiceForm({
  ctx,
  source,
  service,
}: {
  readonly ctx: PageContext
  readonly source: Source
  readonly service: boolean
}): JSX.Element {
  return (
    <form method="post" action={`/sources/${source.id}/${service ? 'unpublish' : 'publish'}`}>
      <Token ctx={ctx} back={ctx.path} />
      <button class="plain" type="submit">
        {service ? 'Stop publishing through this source' : 'Publish through this source'}
      </button>
    </form>
  )
}

/** A link to the source's site, or to its feed if the site is unknown. */
function From({ source: { link, feed_link } }: { readonly source: Source }): JSX.Element | null {
  const href = link ?? feed_link
  if (href === undefined) return null
  return (
    <>
      , from{link === undefined ? ' the feed ' : ' '}
      <a href={href} rel="ugc nofollow noopener">
        {link === undefined ? href : hostOf(href)}
      </a>
    </>
  )
}
