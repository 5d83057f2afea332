import type { FastifyInstance } from 'fastify'
import { tidyText } from '../../text/plain-text.ts'
import { deleteComment, lastPageOfComments, postComment } from '../../domain/entries/responses.ts'
import { MAX_COMMENT_LENGTH } from '../entries/entry-page.tsx'
import { safePath } from '../../http/back-path.ts'
import { notFound, Problem } from '../../http/problem.ts'
import { idOf, signedIn } from '../../http/request-values.ts'
import { entryView } from '../entries/entry-view.tsx'
import type { RouteContext } from '../index.ts'

export function registerCommentRoutes(app: FastifyInstance, { site, pages }: RouteContext): void {
  // A page that refuses a comment has this address, and people may reload it.
  app.get('/entries/:id/comments', async (request, reply) =>
    reply.redirect(`/entries/${idOf(request, 'entry')}#comments`, 303),
  )

  app.post('/entries/:id/comments', { config: { action: 'comment' } }, async (request, reply) => {
    const page = await pages.open(request)
    const viewer = signedIn(page.ctx.viewer)
    const entry = await site.data.entries.get(idOf(request, 'entry'))
    if (entry === undefined) throw notFound('entry')
    const { fields } = pages.form(request)
    const text = tidyText(fields['text'] ?? '', Infinity)
    const error = checkComment(text)
    if (error !== undefined) {
      return pages.send(reply, await entryView(page, entry, { values: fields, errors: { text: error } }), 422)
    }
    const comment = { entry_id: entry.id, person_id: viewer.id, text }
    const id = await postComment(site.data, comment, { once: fields['once'] })
    if (id === undefined) throw notFound('entry')
    // The new comment is the last one, and may be on a later page.
    const after = await lastPageOfComments(page.reader, entry.id)
    const query = after === undefined ? '' : `?after=${encodeURIComponent(after)}`
    return reply.redirect(`/entries/${entry.id}${query}#c-${id}`, 303)
  })

  app.post('/comments/:id/delete', { config: { action: 'delete' } }, async (request, reply) => {
    const { ctx } = await pages.open(request)
    const viewer = signedIn(ctx.viewer)
    const back = safePath(pages.form(request).fields['back'])
    const entryId = await deleteComment(site.data, idOf(request, 'comment'), viewer.id)
    if (entryId === undefined) {
      throw new Problem(
        403,
        'You cannot delete this comment',
        'Only its writer can delete a comment, and only once.',
      )
    }
    return reply.redirect(back ?? `/entries/${entryId}#comments`, 303)
  })
}

function checkComment(text: string): string | undefined {
  if (text === '') return 'Write a few words first.'
  if (text.length > MAX_COMMENT_LENGTH) {
    return `A comment has at most ${MAX_COMMENT_LENGTH} characters; this one has ${text.length}.`
  }
  return undefined
}
