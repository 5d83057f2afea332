import type { FastifyInstance } from 'fastify'
import {
  COMMENTS_PER_PAGE,
  deleteComment,
  LAST_COMMENTS,
  postComment,
} from '../../domain/entries/responses.ts'
import { safePath } from '../../http/back-path.ts'
import { checkForm } from '../../http/forms/check-form.ts'
import { notFound, Problem } from '../../http/problem.ts'
import { limits } from '../../http/rate-limits.ts'
import { idOf } from '../../http/request-values.ts'
import { signedIn } from '../../http/viewer.ts'
import { refusal } from '../entries/refusal.ts'
import { entryView } from '../entries/entry-view.tsx'
import { commentForm } from './form.ts'

export async function commentRoutes(app: FastifyInstance): Promise<void> {
  // A page that refuses a comment has this address, and people may reload it.
  app.get('/entries/:id/comments', async (request, reply) =>
    reply.redirect(`/entries/${idOf(request, 'entry')}#comments`, 303),
  )

  app.post('/entries/:id/comments', { config: { rateLimit: limits.comment } }, async (request, reply) => {
    const { fields, site } = request
    const viewer = signedIn(request)
    const entry = await site.data.entries.get(idOf(request, 'entry'))
    if (entry === undefined) throw notFound('entry')
    if (entry.removed !== undefined) throw await refusal(site.data, entry.id)
    const { values, errors } = checkForm(commentForm, fields)
    if (errors !== undefined)
      return reply.page(await entryView(request, entry, { values: fields, errors }), 422)
    const { once, text } = values
    const comment = { entry_id: entry.id, person_id: viewer.id, text }
    const id = await postComment(site.data, comment, { once })
    if (id === undefined) throw await refusal(site.data, entry.id)
    // The new comment is the last one, and may be on a later page.
    const query = entry.comments < COMMENTS_PER_PAGE ? '' : `?before=${LAST_COMMENTS}`
    return reply.redirect(`/entries/${entry.id}${query}#c-${id}`, 303)
  })

  app.post('/comments/:id/delete', { config: { rateLimit: limits.delete } }, async (request, reply) => {
    const viewer = signedIn(request)
    const back = safePath(request.fields['back'])
    const entryId = await deleteComment(request.site.data, idOf(request, 'comment'), viewer.id)
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
