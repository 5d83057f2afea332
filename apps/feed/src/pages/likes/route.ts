import type { FastifyInstance } from 'fastify'
import { likeEntry, unlikeEntry } from '../../domain/entries/responses.ts'
import { backPath } from '../../http/back-path.ts'
import { limits } from '../../http/rate-limits.ts'
import { idOf } from '../../http/request-values.ts'
import { signedIn } from '../../http/viewer.ts'
import { refusal } from '../entries/refusal.ts'

export async function likeRoutes(app: FastifyInstance): Promise<void> {
  const config = { rateLimit: limits.like }

  app.post('/entries/:id/like', { config }, async (request, reply) => {
    const { data } = request.site
    const viewer = signedIn(request)
    const id = idOf(request, 'entry')
    if (!(await likeEntry(data, id, viewer.id))) throw await refusal(data, id)
    return reply.redirect(backPath(request.fields['back']), 303)
  })

  app.post('/entries/:id/unlike', { config }, async (request, reply) => {
    const { id } = signedIn(request)
    await unlikeEntry(request.site.data, idOf(request, 'entry'), id)
    return reply.redirect(backPath(request.fields['back']), 303)
  })
}
