import type { JSX } from 'preact'
import { fileName } from '../../feeds/parse/media.ts'
import { fromFirstMatch } from '../../text/excerpt.ts'
import { NAME_LENGTH, tidyLine } from '../../text/plain-text.ts'
import { hostOf } from '../../text/web-link.ts'
import type { Entry } from '../../kinds/entry.ts'
import type { Card, PublishedEntry } from '../../domain/entries/cards.ts'
import { absentName } from '../absent-name.ts'
import { Avatar, hueOf } from '../avatar.tsx'
import { CommentItem } from './comment-item.tsx'
import { LikeButton } from './like-button.tsx'
import { LikesLine } from './likes-line.tsx'
import { MarkedText } from './marked-text.tsx'
import type { PageContext } from '../page-context.ts'
import { tagPath } from './tag-path.ts'
import { TimeAgo } from '../time-ago.tsx'

/** A list of entries. */
export function EntryList({
  ctx,
  cards,
  terms,
}: {
  readonly ctx: PageContext
  readonly cards: readonly Card[]
  /** Words to mark. */
  readonly terms?: ReadonlySet<string>
}): JSX.Element {
  return (
    <ol class="entries">
      {cards.map((card) => (
        <li key={card.entry.id}>
          <EntryCard ctx={ctx} card={card} terms={terms} />
        </li>
      ))}
    </ol>
  )
}

/**
 * Tab index of links on a card beside its entry. The title, the comment and the like of each card are tab stops; the others are stops on
 * the page of the entry, so that a list has few.
 */
export const CARD_TAB_INDEX = -1

/** Lengths of texts on a card, in UTF-16 units. The page of the entry has all of them. */
const CARD_TITLE_LENGTH = 250
const CARD_BODY_LENGTH = 200
/** Length of the name of a link. */
const MAX_NAME_LENGTH = 60

export interface EntryCardProps {
  readonly ctx: PageContext
  readonly card: Card
  /** Reason why it is in the list. */
  readonly reason?: JSX.Element
  /** Further forms for it. */
  readonly acts?: JSX.Element
  /** Words to mark in its texts. The text of the card begins near the first of them. */
  readonly terms?: ReadonlySet<string> | undefined
}

/** An entry in a list, with its likes and last comments. */
export function EntryCard({ ctx, card, reason, acts, terms }: EntryCardProps): JSX.Element {
  const { entry, comments, likes } = card
  const page = `/entries/${entry.id}`
  const earlier = comments.total - comments.items.length
  const name = tidyLine(entry.title, NAME_LENGTH)
  return (
    <article class="entry" id={`e-${entry.id}`} aria-label={name}>
      <EntryAvatar card={card} />
      <div class="entry-main">
        <EntryHead ctx={ctx} card={card} tabIndex={CARD_TAB_INDEX} />
        {reason}
        <CardTitle entry={entry} terms={terms} />
        {entry.body === undefined ? null : (
          <p class="entry-body clamp" dir="auto">
            <MarkedText text={excerptOf(entry.body, terms)} terms={terms} />
          </p>
        )}
        <EntryExtras entry={entry} tabIndex={CARD_TAB_INDEX} />
        <div class="answers">
          <LikesLine likes={likes} liked={card.liked} viewer={ctx.viewer} tabIndex={CARD_TAB_INDEX} />
          {comments.items.length === 0 ? null : (
            <ul class="comments">
              {earlier > 0 ? (
                <li class="more">
                  <a href={page} tabIndex={CARD_TAB_INDEX}>
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
            Comment<span class="unseen"> on {name}</span>
          </a>
          {acts}
        </div>
      </div>
    </article>
  )
}

/** The title of an entry on its card: a heading for a shared page, and a paragraph for a message, which is all of its entry. */
function CardTitle({
  entry: { title, link },
  terms,
}: {
  readonly entry: Entry
  readonly terms: ReadonlySet<string> | undefined
}): JSX.Element {
  const text = tidyLine(title, CARD_TITLE_LENGTH)
  if (link === undefined) {
    return (
      <p class="entry-title" dir="auto">
        <MarkedText text={text} terms={terms} />
      </p>
    )
  }
  const end = beginOf(text).length
  return (
    <div class="entry-title" dir="auto">
      <h2>
        <a href={link} rel="ugc nofollow noopener">
          <MarkedText text={text.slice(0, end)} terms={terms} />
          {end === text.length ? null : (
            <span aria-hidden="true">
              <MarkedText text={text.slice(end)} terms={terms} />
            </span>
          )}
        </a>
      </h2>{' '}
      <bdi class="host">{hostOf(link)}</bdi>
    </div>
  )
}

/** Returns the beginning of a body, or its part around the first word that was searched for. */
function excerptOf(body: string, terms: ReadonlySet<string> | undefined): string {
  return tidyLine(terms === undefined ? body : fromFirstMatch(body, terms), CARD_BODY_LENGTH)
}

/** Returns the begin of a title, up to the end of a word, which is the name of its link. Screen readers read names aloud in full. */
function beginOf(title: string): string {
  if (title.length <= MAX_NAME_LENGTH) return title
  return tidyLine(title, MAX_NAME_LENGTH).slice(0, -1)
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
  tabIndex,
}: {
  readonly ctx: PageContext
  readonly card: PublishedEntry
  readonly tabIndex?: -1
}): JSX.Element {
  const { entry, person, source } = card
  return (
    <p class="entry-head">
      {person === undefined ? null : (
        <a class="name" href={`/people/${person.name}`} tabIndex={tabIndex}>
          <bdi>{person.full_name}</bdi>
        </a>
      )}
      {source === undefined ? null : (
        <span class="via">
          {person === undefined ? '' : 'on '}
          <a
            class={person === undefined ? 'name' : undefined}
            href={`/sources/${source.id}`}
            tabIndex={tabIndex}
          >
            <bdi>{source.title}</bdi>
          </a>
          {entry.author === undefined || entry.author === person?.full_name ? null : (
            <>
              , by <bdi>{entry.author}</bdi>
            </>
          )}
        </span>
      )}
      {person === undefined && source === undefined ? <span class="name">{absentName(ctx)}</span> : null}
      <a class="when" href={`/entries/${entry.id}`} tabIndex={tabIndex}>
        <TimeAgo time={entry.published} now={ctx.now} />
      </a>
      {entry.edited === undefined ? null : <span class="faint">edited</span>}
    </p>
  )
}

const MEDIA_NAMES = { image: 'Picture', audio: 'Audio', video: 'Video', file: 'File' }

/** The files and tags that a feed has for an entry. */
export function EntryExtras({
  entry: { media = [], tags = [], link },
  tabIndex,
}: {
  readonly entry: Pick<Entry, 'media' | 'tags' | 'link'>
  readonly tabIndex?: -1
}): JSX.Element | null {
  const files = media.filter(({ url }) => url !== link)
  if (files.length === 0 && tags.length === 0) return null
  return (
    <div class="extras">
      {files.map(({ url, type }) => (
        <a key={url} class={`file ${type}`} href={url} rel="ugc nofollow noopener" tabIndex={tabIndex}>
          {MEDIA_NAMES[type]}: <bdi>{tidyLine(fileName(url), 40)}</bdi>
        </a>
      ))}
      {tags.map((tag) => (
        <a key={tag} class="tag" href={tagPath(tag)} tabIndex={tabIndex}>
          <bdi>{tag.replace(/^#/, '')}</bdi>
        </a>
      ))}
    </div>
  )
}

/** The title of an entry on its page, as a link to the shared page if there is one. */
export function EntryTitle({ entry: { title, link } }: { readonly entry: Entry }): JSX.Element {
  if (link === undefined) return <>{title}</>
  return (
    <>
      <a href={link} rel="ugc nofollow noopener">
        {title}
      </a>{' '}
      <bdi class="host">{hostOf(link)}</bdi>
    </>
  )
}
