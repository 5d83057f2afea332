import type { FastifyInstance } from 'fastify'
import { tidyText } from '../../text/plain-text.ts'
import { webLink } from '../../text/web-link.ts'
import { cardsOf } from '../../domain/entries/cards.ts'
import { newestEntries, postEntry } from '../../domain/entries/entries.ts'
import { MAX_MESSAGE_LENGTH } from './composer.tsx'
import { EMPTY_FORM } from '../../ui/form-parts.tsx'
import { HomePage } from './home-page.tsx'
import { PostPage } from './post-page.tsx'
import { signedIn, toSignIn } from '../../http/request-values.ts'
import type { RouteContext } from '../index.ts'

export function registerHomeRoutes(app: FastifyInstance, { site, pages }: RouteContext): void {
  app.get('/', async (request, reply) => {
    const { ctx, reader, after, paging } = await pages.openList(request)
    const list = await newestEntries(reader, after)
    const cards = await cardsOf(reader, list.items, ctx.viewer?.id)
    return pages.send(reply, <HomePage ctx={ctx} cards={cards} paging={paging(list)} />)
  })

  app.get('/post', async (request, reply) => {
    const { ctx } = await pages.open(request)
    if (ctx.viewer === undefined) return toSignIn(reply, '/post')
    return pages.send(reply, <PostPage ctx={ctx} form={EMPTY_FORM} />)
  })

  app.post('/post', { config: { action: 'post' } }, async (request, reply) => {
    const { ctx } = await pages.open(request)
    const viewer = signedIn(ctx.viewer)
    const { fields } = pages.form(request)
    const { title, link, errors } = checkMessage(fields)
    if (Object.keys(errors).length > 0) {
      return pages.send(reply, <PostPage ctx={ctx} form={{ values: fields, errors }} />, 422)
    }
    const id = await postEntry(site.data, { person_id: viewer.id, title, link }, { once: fields['once'] })
    return reply.redirect(`/entries/${id}`, 303)
  })
}

function checkMessage(fields: Readonly<Record<string, string>>): {
  title: string
  link: string | undefined
  errors: Record<string, string>
} {
  const errors: Record<string, string> = {}
  const typed = fields['title'] ?? ''
  const title = tidyText(typed, Infinity)
  if (title === '') errors['title'] = 'Write a few words first.'
  else if (title.length > MAX_MESSAGE_LENGTH) {
    errors['title'] = `A message has at most ${MAX_MESSAGE_LENGTH} characters; this one has ${title.length}.`
  }
  const typedLink = fields['link']?.trim() ?? ''
  // People often leave out the scheme of an address.
  const link = webLink(/^[a-z][a-z0-9+.-]*:/i.test(typedLink) ? typedLink : `https://${typedLink}`)
  if (typedLink !== '' && (link === undefined || /\s/.test(typedLink))) {
    errors['link'] = 'The link has to be the address of a page, such as https://example.org/page.'
  }
  return { title, link: typedLink === '' ? undefined : link, errors }
}
