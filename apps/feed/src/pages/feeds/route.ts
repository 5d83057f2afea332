import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { generateAtomFeed } from 'feedsmith'
import { cardsOf, type Card } from '../../domain/entries/cards.ts'
import { entriesOfPerson, newestEntries } from '../../domain/entries/entries.ts'
import { personByName } from '../../domain/accounts/people.ts'
import { notFound } from '../../http/problem.ts'
import { nameOf } from '../../http/request-values.ts'
import { withXmlCharacters } from '../../text/xml-characters.ts'
import type { RouteContext } from '../index.ts'

/** Serves the newest entries of the site, and of each person, as Atom feeds. */
export function registerFeedRoutes(app: FastifyInstance, { site, pages }: RouteContext): void {
  app.get('/feed.atom', async (request, reply) => {
    const reader = site.reader()
    const { items } = await newestEntries(reader)
    return sendFeed(request, reply, {
      title: 'Looseleaf',
      origin: pages.originOf(request),
      page: '/',
      cards: await cardsOf(reader, items, undefined),
    })
  })

  app.get('/people/:name/feed.atom', async (request, reply) => {
    const reader = site.reader()
    const person = await personByName(reader, nameOf(request))
    if (person === undefined) throw notFound('person of this name')
    const { items } = await entriesOfPerson(reader, person.id)
    return sendFeed(request, reply, {
      title: person.full_name,
      origin: pages.originOf(request),
      page: `/people/${person.name}`,
      cards: await cardsOf(reader, items, undefined),
    })
  })
}

interface Feed {
  readonly title: string
  readonly origin: string
  /** Path of the page with the same entries. */
  readonly page: string
  readonly cards: readonly Card[]
}

function sendFeed(request: FastifyRequest, reply: FastifyReply, feed: Feed): FastifyReply {
  const { title, origin: root, page, cards } = feed
  const xml = generateAtomFeed({
    id: `${root}${page}`,
    title: { value: title, type: 'text' },
    updated: cards[0]?.entry.published ?? new Date(0),
    links: [
      { rel: 'self', href: `${root}${request.url}` },
      { rel: 'alternate', type: 'text/html', href: `${root}${page}` },
    ],
    entries: cards.map(({ entry, person, source }) => ({
      id: `urn:uuid:${entry.id}`,
      title: { value: entry.title, type: 'text' },
      published: entry.published,
      updated: entry.published,
      authors: [{ name: person?.full_name ?? source?.title ?? 'A former member' }],
      links: [{ rel: 'alternate', type: 'text/html', href: entry.link ?? `${root}/entries/${entry.id}` }],
      ...(entry.body === undefined ? {} : { summary: { value: entry.body, type: 'text' } }),
    })),
  })
  return reply
    .type('application/atom+xml; charset=utf-8')
    .header('cache-control', 'private, no-cache')
    .send(withXmlCharacters(xml))
}
