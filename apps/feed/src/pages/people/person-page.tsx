import type { ComponentChildren, JSX } from 'preact'
import type { Card } from '../../domain/entries/cards.ts'
import type { Following } from '../../domain/following/queries.ts'
import type { Person } from '../../kinds/person.ts'
import type { Source } from '../../kinds/source.ts'
import type { Excerpt } from '../../domain/site/lists.ts'
import { Avatar } from '../../ui/avatar.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { EntryList } from '../../ui/entries/entry-card.tsx'
import { FollowForm } from '../../ui/follow-form.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import { PersonViews } from './person-views.tsx'
import { OlderLink, type Paging } from '../../ui/older-link.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import { TimeAgo } from '../../ui/time-ago.tsx'
import { isolated } from '../../text/isolated.ts'

export interface PersonPageProps {
  readonly ctx: PageContext
  readonly person: Person
  readonly following: Following
  /** Some of the sources that the person publishes through, with their number. */
  readonly sources: Excerpt<Source>
  readonly view: 'entries' | 'likes'
  readonly cards: readonly Card[]
  readonly paging: Paging
}

export function PersonPage(props: PersonPageProps): JSX.Element {
  const { ctx, person, following, sources, view, cards, paging } = props
  const home = `/people/${person.name}`
  const path = view === 'entries' ? home : `${home}/likes`
  return (
    <Layout
      ctx={ctx}
      title={view === 'entries' ? isolated(person.full_name) : `Likes of ${isolated(person.full_name)}`}
      section="people"
      feed={view === 'entries' && !paging.paged ? `${home}/feed.atom` : undefined}
    >
      <header class="profile">
        <Avatar label={person.full_name} hue={person.hue} />
        <div>
          <h1 dir="auto">{person.full_name}</h1>
          <p class="faint">
            <span class="handle">{person.name}</span>, joined <TimeAgo time={person.joined} now={ctx.now} />
          </p>
          {person.bio === '' ? null : <p dir="auto">{person.bio}</p>}
          <BringsIn home={home} sources={sources} />
          <FollowForm ctx={ctx} channelId={person.id} following={following} />
          {person.id === ctx.viewer?.id ? (
            <p>
              <a href="/following">Following</a> · <a href="/settings">Settings</a>
            </p>
          ) : null}
        </div>
      </header>
      <PersonViews person={person} view={view} />
      {cards.length === 0 ? (
        <EmptyState
          ctx={ctx}
          paged={paging.paged}
          title={view === 'entries' ? 'Nothing shared yet' : 'Nothing liked yet'}
        >
          <p>
            {person.id !== ctx.viewer?.id ? (
              <>
                <bdi>{person.full_name}</bdi> has been quiet so far.
              </>
            ) : view === 'entries' ? (
              'Your posts will appear here.'
            ) : (
              'Entries that you like will appear here.'
            )}
          </p>
        </EmptyState>
      ) : (
        <EntryList ctx={ctx} cards={cards} />
      )}
      <OlderLink path={path} paging={paging} />
    </Layout>
  )
}

function BringsIn({
  home,
  sources,
}: {
  readonly home: string
  readonly sources: Excerpt<Source>
}): JSX.Element | null {
  if (sources.items.length === 0) return null
  const more = sources.total - sources.items.length
  const parts: ComponentChildren[] = [
    ...sources.items.map((source) => (
      <a key={source.id} href={`/sources/${source.id}`}>
        <bdi>{source.title}</bdi>
      </a>
    )),
    ...(more > 0 ? [<a href={`${home}/sources`}>{more} more</a>] : []),
  ]
  return (
    <p class="faint">
      Brings in {parts.map((part, i) => [i === 0 ? '' : i === parts.length - 1 ? ' and ' : ', ', part])}
    </p>
  )
}
