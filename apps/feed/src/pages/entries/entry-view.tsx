import type { FastifyRequest } from 'fastify'
import type { JSX } from 'preact'
import { namesOn } from '../../domain/entries/cards.ts'
import { alsoShared } from '../../domain/entries/entries.ts'
import { commentsOn, lastLikes, likedAmong, type CommentsPlace } from '../../domain/entries/responses.ts'
import type { Entry } from '../../kinds/entry.ts'
import type { FormState } from '../../ui/form-parts.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import { EntryPage } from './entry-page.tsx'

export interface EntryViewOptions {
  /** Default: the first comments. */
  readonly place?: CommentsPlace
  /** Other entries with the same link, if they were read already. */
  readonly shares?: readonly Entry[]
}

/** Reads the page of an entry, with its comment form in the given state. Returns its view. */
export async function entryView(
  { site: { data }, viewer, home }: FastifyRequest,
  entry: Entry,
  form: FormState,
  { place = {}, shares }: EntryViewOptions = {},
): Promise<(ctx: PageContext) => JSX.Element> {
  const [comments, [likes = []], others] = await Promise.all([
    commentsOn(data, entry.id, place),
    lastLikes(data, [entry.id]),
    shares ?? alsoShared(data, entry),
  ])
  const [names, liked] = await Promise.all([
    namesOn(data, [entry, ...others], [...comments.items, ...likes]),
    likedAmong(data, viewer?.id, [entry.id]),
  ])
  const { cursor, previous } = comments
  const isAtHome = home?.rows.some(({ entry_id, hidden }) => entry_id === entry.id && !hidden) ?? false
  const by = place.before === undefined ? 'after' : 'before'
  // A page that was read backward is the first one if no comments are before it, as the last page of few comments.
  const paged = by === 'after' ? place.after !== undefined : previous !== undefined
  return (ctx) => (
    <EntryPage
      ctx={ctx}
      card={{ ...names.published(entry), likes: names.by(likes, entry.likes), liked: liked.has(entry.id) }}
      comments={names.by(comments.items, entry.comments)}
      paging={{ cursor, previous, paged, by }}
      shares={others.map(names.published)}
      form={form}
      isAtHome={isAtHome}
    />
  )
}
