import type { JSX } from 'preact'
import { fileName } from '../feeds/parse/media.ts'
import { tidyLine } from '../text/plain-text.ts'
import { hostOf } from '../text/web-link.ts'
import type { Entry } from '../kinds/entry.ts'
import type { Card, PublishedEntry } from '../domain/entries/cards.ts'
import { Avatar, hueOf } from './avatar.tsx'
import { CommentItem } from './comment-item.tsx'
import { LikeButton } from './like-button.tsx'
import { LikesLine } from './likes-line.tsx'
import type { PageContext } from './page-context.ts'
import { TimeAgo } from './time-ago.tsx'

/** A list of entries. */
export function EntryList({
  ctx,
  cards,
}: {
  readonly ctx: PageContext
  readonly cards: readonly Card[]
}): JSX.Element {
  return (
    <ol class="entries">
      {cards.map((card) => (
        <li key={card.entry.id}>
          <EntryCard ctx={ctx} card={card} />
        </li>
      ))}
    </ol>
  )
}

/** An entry in a list, with its likes and last comments. */
export function EntryCard({ ctx, card }: { readonly ctx: PageContext; readonly card: Card }): JSX.Element {
  const { entry, comments, likes } = card
  const page = `/entries/${entry.id}`
  const earlier = comments.total - comments.items.length
  return (
    <article class="entry" id={`e-${entry.id}`} aria-labelledby={`t-${entry.id}`}>
      <EntryAvatar card={card} />
      <div class="entry-main">
        <EntryHead ctx={ctx} card={card} />
        <h2 class="entry-title" dir="auto" id={`t-${entry.id}`}>
          <EntryTitle card={card} page={page} />
        </h2>
        {entry.body === undefined ? null : (
          <p class="entry-body clamp" dir="auto">
            {entry.body}
          </p>
        )}
        <EntryExtras entry={entry} />
        <div class="answers">
          <LikesLine likes={likes} liked={card.liked} viewer={ctx.viewer} />
          {comments.items.length === 0 ? null : (
            <ul class="comments">
              {earlier > 0 ? (
                <li class="more">
                  <a href={page}>
                    {earlier} earlier {earlier === 1 ? 'comment' : 'comments'}
                  </a>
                </li>
              ) : null}
              {comments.items.map((comment) => (
                <CommentItem key={comment.id} ctx={ctx} comment={comment} anchored={false} />
              ))}
            </ul>
          )}
        </div>
        <div class="actions">
          <LikeButton ctx={ctx} entry={entry} liked={card.liked} back={`${ctx.path}#e-${entry.id}`} />
          <a href={`${page}#comment`}>
            Comment<span class="unseen"> on {entry.title}</span>
          </a>
        </div>
      </div>
    </article>
  )
}

export function EntryAvatar({ card }: { readonly card: PublishedEntry }): JSX.Element {
  const { person, source } = card
  if (person !== undefined) return <Avatar label={person.full_name} hue={person.hue} />
  const title = source?.title ?? '?'
  return <Avatar label={title} hue={hueOf(title)} shape="source" />
}

/** The person, source and time of an entry. */
export function EntryHead({
  ctx,
  card,
}: {
  readonly ctx: PageContext
  readonly card: PublishedEntry
}): JSX.Element {
  const { entry, person, source } = card
  return (
    <p class="entry-head">
      {person === undefined ? null : (
        <a class="name" href={`/people/${person.name}`}>
          <bdi>{person.full_name}</bdi>
        </a>
      )}
      {source === undefined ? null : (
        <span class="via">
          {person === undefined ? '' : 'on '}
          <a class={person === undefined ? 'name' : undefined} href={`/sources/${source.id}`}>
            <bdi>{source.title}</bdi>
          </a>
          {entry.author === undefined || entry.author === person?.full_name ? '' : `, by ${entry.author}`}
        </span>
      )}
      {person === undefined && source === undefined ? <span class="name">A former member</span> : null}
      <a class="when" href={`/entries/${entry.id}`}>
        <TimeAgo time={entry.published} now={ctx.now} />
      </a>
    </p>
  )
}

const MEDIA_NAMES = { image: 'Picture', audio: 'Audio', video: 'Video', file: 'File' }

/** The files and tags that a feed has for an entry. */
export function EntryExtras({
  entry: { media = [], tags = [], link },
}: {
  readonly entry: Pick<Entry, 'media' | 'tags' | 'link'>
}): JSX.Element | null {
  const files = media.filter(({ url }) => url !== link)
  if (files.length === 0 && tags.length === 0) return null
  return (
    <p class="extras">
      {files.map(({ url, type }) => (
        <a key={url} href={url} rel="ugc nofollow noopener">
          {MEDIA_NAMES[type]}: <bdi>{tidyLine(fileName(url), 40)}</bdi>
        </a>
      ))}
      {tags.map((tag) => (
        <bdi key={tag} class="tag">
          {tag}
        </bdi>
      ))}
    </p>
  )
}

/** The title, as a link to the shared page, or else to the entry's own. */
export function EntryTitle({
  card,
  page,
}: {
  readonly card: PublishedEntry
  readonly page?: string
}): JSX.Element {
  const { title, link } = card.entry
  if (link !== undefined) {
    return (
      <>
        <a href={link} rel="ugc nofollow noopener">
          {title}
        </a>{' '}
        <bdi class="host">{hostOf(link)}</bdi>
      </>
    )
  }
  return page === undefined ? <>{title}</> : <a href={page}>{title}</a>
}
