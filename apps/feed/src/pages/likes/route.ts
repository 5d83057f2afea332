import type { FastifyInstance } from 'fastify'
import { likeEntry, unlikeEntry } from '../../domain/entries/responses.ts'
import { backPath } from '../../http/back-path.ts'
import { notFound } from '../../http/problem.ts'
import { idOf, signedIn } from '../../http/request-values.ts'
import type { RouteContext } from '../index.ts'

export function registerLikeRoutes(app: FastifyInstance, { site, pages }: RouteContext): void {
  app.post('/entries/:id/like', { config: { action: 'like' } }, async (request, reply) => {
    const { ctx } = await pages.open(request)
    if (!(await likeEntry(site.data, idOf(request, 'entry'), signedIn(ctx.viewer).id)))
      throw notFound('entry')
    return reply.redirect(backPath(pages.form(request).fields['back']), 303)
  })

  app.post('/entries/:id/unlike', { config: { action: 'like' } }, async (request, reply) => {
    const { ctx } = await pages.open(request)
    await unlikeEntry(site.data, idOf(request, 'entry'), signedIn(ctx.viewer).id)
    return reply.redirect(backPath(pages.form(request).fields['back']), 303)
  })
}
