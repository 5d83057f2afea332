import type { FastifyInstance } from 'fastify'
import { deleteEntry } from '../../domain/entries/entries.ts'
import { EMPTY_FORM } from '../../ui/form-parts.tsx'
import { notFound, Problem } from '../../http/problem.ts'
import { idOf, signedIn } from '../../http/request-values.ts'
import { entryView } from './entry-view.tsx'
import type { RouteContext } from '../index.ts'

export function registerEntryRoutes(app: FastifyInstance, { site, pages }: RouteContext): void {
  app.get('/entries/:id', async (request, reply) => {
    const page = await pages.openList(request)
    const entry = await page.reader.get(site.data.entries, idOf(request, 'entry'))
    if (entry === undefined) throw notFound('entry')
    return pages.send(reply, await entryView(page, entry, EMPTY_FORM, page.after))
  })

  app.post('/entries/:id/delete', { config: { action: 'delete' } }, async (request, reply) => {
    const { ctx } = await pages.open(request)
    const viewer = signedIn(ctx.viewer)
    const id = idOf(request, 'entry')
    if (!(await deleteEntry(site.data, id, viewer.id))) {
      if ((await site.data.entries.get(id)) === undefined) throw notFound('entry')
      throw new Problem(403, 'You cannot delete this entry', 'Only its publisher can delete an entry.')
    }
    return reply.redirect(`/people/${viewer.name}`, 303)
  })
}
