import type { FastifyInstance } from 'fastify'
import { deleteEntry } from '../../domain/entries/entries.ts'
import { notFound, Problem } from '../../http/problem.ts'
import { limits } from '../../http/rate-limits.ts'
import { cursorOf, idOf } from '../../http/request-values.ts'
import { signedIn } from '../../http/viewer.ts'
import { EMPTY_FORM } from '../../ui/form-parts.tsx'
import { entryView } from './entry-view.tsx'

export async function entryRoutes(app: FastifyInstance): Promise<void> {
  app.get('/entries/:id', async (request, reply) => {
    const after = cursorOf(request)
    const entry = await request.site.data.entries.get(idOf(request, 'entry'))
    if (entry === undefined) throw notFound('entry')
    return reply.page(await entryView(request, entry, EMPTY_FORM, after))
  })

  app.post('/entries/:id/delete', { config: { rateLimit: limits.delete } }, async (request, reply) => {
    const { data } = request.site
    const viewer = signedIn(request)
    const id = idOf(request, 'entry')
    if (!(await deleteEntry(data, id, viewer.id))) {
      if ((await data.entries.get(id)) === undefined) throw notFound('entry')
      throw new Problem(403, 'You cannot delete this entry', 'Only its publisher can delete an entry.')
    }
    return reply.redirect(`/people/${viewer.name}`, 303)
  })
}
