import type { FastifyRequest } from 'fastify'
import type { JSX } from 'preact'
import { namesOn } from '../../domain/entries/cards.ts'
import { alsoShared } from '../../domain/entries/entries.ts'
import { commentsOn, countComments, lastLikes, likedAmong } from '../../domain/entries/responses.ts'
import type { Entry } from '../../kinds/entry.ts'
import type { FormState } from '../../ui/form-parts.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import { EntryPage } from './entry-page.tsx'

/** Reads the page of an entry, with its comment form in the given state. Returns its view. */
export async function entryView(
  { site: { data }, viewer }: FastifyRequest,
  entry: Entry,
  form: FormState,
  after?: string,
): Promise<(ctx: PageContext) => JSX.Element> {
  const [comments, [likes], others] = await Promise.all([
    commentsOn(data, entry.id, after),
    lastLikes(data, [entry.id]),
    alsoShared(data, entry),
  ])
  const { cursor, previous } = comments
  const paged = after !== undefined
  const isWhole = !paged && cursor === undefined
  const [names, liked, total] = await Promise.all([
    namesOn(data, [entry, ...others], [...comments.items, ...(likes?.items ?? [])]),
    likedAmong(data, viewer?.id, [entry.id]),
    isWhole ? comments.items.length : countComments(data, entry.id),
  ])
  return (ctx) => (
    <EntryPage
      ctx={ctx}
      card={{ ...names.published(entry), likes: names.by(likes), liked: liked.has(entry.id) }}
      comments={names.by({ items: comments.items, total })}
      paging={{ cursor, previous, paged }}
      shares={others.map(names.published)}
      form={form}
    />
  )
}
