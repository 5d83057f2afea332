import type { JSX } from 'preact'
import { namesOn } from '../../domain/entries/cards.ts'
import type { Entry } from '../../kinds/entry.ts'
import { alsoShared } from '../../domain/entries/entries.ts'
import { commentsOn, countComments, lastLikes, likedAmong } from '../../domain/entries/responses.ts'
import { EntryPage } from './entry-page.tsx'
import type { FormState } from '../../ui/form-parts.tsx'
import type { OpenPage } from '../../http/pages.ts'

/** Renders the page of an entry, with its comment form in the given state. */
export async function entryView(
  { ctx, reader }: OpenPage,
  entry: Entry,
  form: FormState,
  after?: string,
): Promise<JSX.Element> {
  const [comments, [likes], others] = await Promise.all([
    commentsOn(reader, entry.id, after),
    lastLikes(reader, [entry.id]),
    alsoShared(reader, entry),
  ])
  const paged = after !== undefined
  const isWhole = !paged && comments.cursor === undefined
  const [names, liked, total] = await Promise.all([
    namesOn(reader, [entry, ...others], [...comments.items, ...(likes?.items ?? [])]),
    likedAmong(reader, ctx.viewer?.id, [entry.id]),
    isWhole ? comments.items.length : countComments(reader, entry.id),
  ])
  return (
    <EntryPage
      ctx={ctx}
      card={{ ...names.published(entry), likes: names.by(likes), liked: liked.has(entry.id) }}
      comments={names.by({ items: comments.items, total })}
      paging={{ cursor: comments.cursor, previous: comments.previous, paged }}
      shares={others.map(names.published)}
      form={form}
    />
  )
}
