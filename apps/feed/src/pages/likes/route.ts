import type { FastifyInstance } from 'fastify'
import { likeEntry, unlikeEntry } from '../../domain/entries/responses.ts'
import { backPath } from '../../http/back-path.ts'
import { notFound } from '../../http/problem.ts'
import { limits } from '../../http/rate-limits.ts'
import { idOf } from '../../http/request-values.ts'
import { signedIn } from '../../http/viewer.ts'

export async function likeRoutes(app: FastifyInstance): Promise<void> {
  const config = { rateLimit: limits.like }

  app.post('/entries/:id/like', { config }, async (request, reply) => {
    const { id } = signedIn(request)
    if (!(await likeEntry(request.site.data, idOf(request, 'entry'), id))) throw notFound('entry')
    return reply.redirect(backPath(request.fields['back']), 303)
  })

  app.post('/entries/:id/unlike', { config }, async (request, reply) => {
    const { id } = signedIn(request)
    await unlikeEntry(request.site.data, idOf(request, 'entry'), id)
    return reply.redirect(backPath(request.fields['back']), 303)
  })
}
