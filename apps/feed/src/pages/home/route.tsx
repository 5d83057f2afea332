import type { FastifyInstance } from 'fastify'
import { cardsOf } from '../../domain/entries/cards.ts'
import { newestEntries, postEntry } from '../../domain/entries/entries.ts'
import { checkForm } from '../../http/check-form.ts'
import { limits } from '../../http/rate-limits.ts'
import { cursorOf, toSignIn } from '../../http/request-values.ts'
import { signedIn } from '../../http/viewer.ts'
import { EMPTY_FORM } from '../../ui/form-parts.tsx'
import { pagingOf } from '../paging.ts'
import { messageForm } from './form.ts'
import { HomePage } from './home-page.tsx'
import { PostPage } from './post-page.tsx'

export async function homeRoutes(app: FastifyInstance): Promise<void> {
  app.get('/', async (request, reply) => {
    const { data } = request.site
    const list = await newestEntries(data, cursorOf(request))
    const cards = await cardsOf(data, list.items, request.viewer?.id)
    const paging = pagingOf(request, list)
    return reply.page((ctx) => <HomePage ctx={ctx} cards={cards} paging={paging} />)
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
