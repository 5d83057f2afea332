import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isId } from 'looseleaf'
import { cardsOf } from '../../domain/entries/cards.ts'
import { newestEntries, postEntry } from '../../domain/entries/entries.ts'
import { markAllRead, setHidden, setOrder } from '../../domain/home/commands.ts'
import { cutHome, seenUpTo } from '../../domain/home/home-list.ts'
import { homeCards } from '../../domain/home/home-page.ts'
import { readHome } from '../../domain/home/queries.ts'
import { missingShards, Unreadable } from '../../domain/site/partial-reads.ts'
import { backPath } from '../../http/back-path.ts'
import { checkForm } from '../../http/forms/check-form.ts'
import { invalidAddress, notFound } from '../../http/problem.ts'
import { limits } from '../../http/rate-limits.ts'
import { cursorOf, idOf, toSignIn } from '../../http/request-values.ts'
import { signedIn } from '../../http/viewer.ts'
import { MEDIA_KINDS } from '../../kinds/entry.ts'
import { EMPTY_FORM } from '../../ui/form-parts.tsx'
import { pagingOf } from '../paging.ts'
import { EverythingPage } from './everything-page.tsx'
import { messageForm } from './form.ts'
import { HomePage } from './home-page.tsx'
import { PostPage } from './post-page.tsx'

export async function homeRoutes(app: FastifyInstance): Promise<void> {
  app.get('/', (request, reply) =>
    request.viewer === undefined ? sendEverything(request, reply, '/') : sendHome(request, reply),
  )
  app.get('/everything', (request, reply) => sendEverything(request, reply, '/everything'))

  const few = { config: { rateLimit: limits.like } }

  app.post('/home/order', few, async (request, reply) => {
    const { order } = request.fields
    const { id } = signedIn(request)
    if (order !== 'newest' && order !== 'activity') throw notFound('order of this name')
    await setOrder(request.site.data, id, order)
    return reply.redirect(backPath(request.fields['back']), 303)
  })

  app.post('/home/read', few, async (request, reply) => {
    const { id } = signedIn(request)
    const until = Number(request.fields['until'])
    if (!Number.isSafeInteger(until) || until < 0) throw notFound('time')
    await markAllRead(request.site.data, id, new Date(Math.min(until, request.now.getTime())))
    return reply.redirect(backPath(request.fields['back']), 303)
  })

  app.post('/entries/:id/hide', few, async (request, reply) => {
    const entryId = await hide(request, true)
    const [path = '/', query] = backPath(request.fields['back']).replace(/#.*/, '').split('?')
    const search = new URLSearchParams(query)
    search.set('hidden', entryId)
    return reply.redirect(`${path}?${search.toString()}`, 303)
  })

  app.post('/entries/:id/show', few, async (request, reply) => {
    const entryId = await hide(request, false)
    const [path = '/', query] = backPath(request.fields['back']).split('?')
    const search = new URLSearchParams(query)
    search.delete('hidden')
    return reply.redirect(`${path}${search.size === 0 ? '' : `?${search.toString()}`}#e-${entryId}`, 303)
  })

  app.get('/post', async (request, reply) => {
    if (request.viewer === undefined) return toSignIn(reply, '/post')
    return reply.page((ctx) => <PostPage ctx={ctx} form={EMPTY_FORM} />)
  })

  app.post('/post', { config: { rateLimit: limits.post } }, async (request, reply) => {
    const { fields, site } = request
    const viewer = signedIn(request)
    const { values, errors } = checkForm(messageForm, fields)
    if (errors !== undefined)
      return reply.page((ctx) => <PostPage ctx={ctx} form={{ values: fields, errors }} />, 422)
    const { once, ...message } = values
    const id = await postEntry(site.data, { person_id: viewer.id, ...message }, { once })
    return reply.redirect(`/entries/${id}`, 303)
  })
}

/** Hides an entry of the sender's home page, or shows it again. Returns its id. */
async function hide(request: FastifyRequest, hidden: boolean): Promise<string> {
  const { data } = request.site
  const { id } = signedIn(request)
  const entryId = idOf(request, 'entry')
  const row = (await readHome(request.site, id)).rows.find(({ entry_id }) => entry_id === entryId)
  if (row === undefined && missingShards(request.trace).length > 0) throw new Unreadable('entry')
  if (row === undefined) throw notFound('entry on your home page')
  await setHidden(data, id, row, hidden)
  return entryId
}

async function sendEverything(
  request: FastifyRequest,
  reply: FastifyReply,
  path: '/' | '/everything',
): Promise<FastifyReply> {
  const { data } = request.site
  const list = await newestEntries(data, cursorOf(request))
  const cards = await cardsOf(data, list.items, request.viewer?.id)
  const paging = pagingOf(request, list)
  return reply.page((ctx) => <EverythingPage ctx={ctx} cards={cards} paging={paging} path={path} />)
}

async function sendHome(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { data } = request.site
  const viewer = signedIn(request)
  const query = request.query as Partial<Record<string, unknown>>
  const media = MEDIA_KINDS.find((kind) => kind === query['media'])
  const hidden = isId(query['hidden']) ? query['hidden'] : undefined
  const home = request.home ?? (await readHome(request.site, viewer.id))
  const part = cutHome(home, { media, after: cursorOf(request) })
  if (part === undefined) throw invalidAddress()
  const cards = await homeCards(data, viewer.id, home, part, hidden)
  const paging = pagingOf(request, part)
  const props = { order: home.order, media, seenUpTo: seenUpTo(home), isFull: home.isFull, paging }
  return reply.page((ctx) => <HomePage ctx={ctx} home={cards} {...props} />)
}
