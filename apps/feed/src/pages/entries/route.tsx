import type { FastifyInstance, FastifyRequest } from 'fastify'
import { alsoShared, editEntry, editionOf, isOwnMessage, removeEntry } from '../../domain/entries/entries.ts'
import { markRead } from '../../domain/home/commands.ts'
import { isUnread, type HomeRow } from '../../domain/home/home-list.ts'
import { readThing } from '../../domain/site/partial-reads.ts'
import { checkForm } from '../../http/forms/check-form.ts'
import { notFound, Problem } from '../../http/problem.ts'
import { limits } from '../../http/rate-limits.ts'
import { cursorOf, idOf, toSignIn } from '../../http/request-values.ts'
import { signedIn, unlessDown } from '../../http/viewer.ts'
import type { Entry } from '../../kinds/entry.ts'
import { EMPTY_FORM } from '../../ui/form-parts.tsx'
import { EditPage } from './edit-page.tsx'
import { editForm } from './form.ts'
import { entryView } from './entry-view.tsx'
import { refusal } from './refusal.ts'

export async function entryRoutes(app: FastifyInstance): Promise<void> {
  app.get('/entries/:id', async (request, reply) => {
    const place = { after: cursorOf(request), before: cursorOf(request, 'before') }
    const entry = await readThing(request.site.data.entries, idOf(request, 'entry'), 'entry')
    if (entry === undefined) throw notFound('entry')
    const shares = await alsoShared(request.site.data, entry)
    await openStory(request, entry)
    const view = await entryView(request, entry, EMPTY_FORM, { place, shares })
    return reply.page(view, entry.removed === undefined ? 200 : 410)
  })

  app.get('/entries/:id/edit', async (request, reply) => {
    const { data } = request.site
    const id = idOf(request, 'entry')
    if (request.viewer === undefined) return toSignIn(reply, `/entries/${id}/edit`)
    const entry = await readThing(data.entries, id, 'entry')
    if (entry === undefined || !isOwnMessage(entry, request.viewer.id))
      throw await refusal(data, id, cannotEdit())
    const values = { title: entry.title, link: entry.link ?? '', edition: editionOf(entry) }
    return reply.page((ctx) => <EditPage ctx={ctx} entryId={id} form={{ values, errors: {} }} />)
  })

  app.post('/entries/:id/edit', { config: { rateLimit: limits.post } }, async (request, reply) => {
    const { data } = request.site
    const viewer = signedIn(request)
    const id = idOf(request, 'entry')
    const { values, errors } = checkForm(editForm, request.fields)
    if (errors !== undefined) {
      const form = { values: request.fields, errors }
      return reply.page((ctx) => <EditPage ctx={ctx} entryId={id} form={form} />, 422)
    }
    const outcome = await editEntry(data, id, viewer.id, values, request.now)
    const stored = outcome === 'outdated' ? await data.entries.get(id) : undefined
    if (stored !== undefined) {
      const form = { values: { ...request.fields, edition: editionOf(stored) }, errors: {} }
      return reply.page((ctx) => <EditPage ctx={ctx} entryId={id} form={form} stored={stored} />, 409)
    }
    if (outcome !== 'edited') throw await refusal(data, id, cannotEdit())
    return reply.redirect(`/entries/${id}`, 303)
  })

  app.post('/entries/:id/delete', { config: { rateLimit: limits.delete } }, async (request, reply) => {
    const { data } = request.site
    const viewer = signedIn(request)
    const id = idOf(request, 'entry')
    if (!(await removeEntry(data, id, viewer.id, request.now))) throw await refusal(data, id, cannotRemove())
    return reply.redirect(`/people/${viewer.name}`, 303)
  })
}

/** Marks an entry on the visitor's home page as read, and those that are one story with it. */
async function openStory(request: FastifyRequest, { id, link_key }: Entry): Promise<void> {
  const { viewer, home } = request
  if (viewer === undefined || home === undefined) return
  const isOfStory = (row: HomeRow): boolean =>
    row.entry_id === id || (home.isFolded && link_key !== undefined && row.link_key === link_key)
  const unread = new Set(home.rows.filter((row) => isOfStory(row) && isUnread(row, home)))
  if (unread.size === 0) return
  await Promise.all([...unread].map((row) => unlessDown(markRead(request.site.data, viewer.id, row))))
  const rows = home.rows.map((row) => (unread.has(row) ? { ...row, read: true } : row))
  request.home = { ...home, rows }
}

function cannotEdit(): Problem {
  return new Problem(403, 'You cannot edit this entry', 'Only its writer can edit a message.')
}

function cannotRemove(): Problem {
  return new Problem(403, 'You cannot delete this entry', 'Only its publisher can delete an entry.')
}
