import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { cardsOf, type Card } from '../../domain/entries/cards.ts'
import { entriesOfPerson, newestEntries } from '../../domain/entries/entries.ts'
import { serviceIdsOf } from '../../domain/following/queries.ts'
import { missingShards, Unreadable } from '../../domain/site/partial-reads.ts'
import { withXmlCharacters } from '../../text/xml-characters.ts'
import { personOf } from '../people/person-of.ts'

/** Serves the newest entries of the site, and of each person, as Atom feeds. */
export async function feedRoutes(app: FastifyInstance): Promise<void> {
  app.get('/feed.atom', async (request, reply) => {
    const { data } = request.site
    const { items } = await newestEntries(data)
    const cards = await cardsOf(data, items, undefined)
    return sendFeed(request, reply, { title: 'Looseleaf', page: '/', cards })
  })

  app.get('/people/:name/feed.atom', async (request, reply) => {
    const { data } = request.site
    const { id, name, full_name } = await personOf(request)
    const { items } = await entriesOfPerson(data, id, await serviceIdsOf(data, id))
    const cards = await cardsOf(data, items, undefined)
    return sendFeed(request, reply, { title: full_name, page: `/people/${name}`, cards })
  })
}

interface Feed {
  readonly title: string
  /** Path of the page with the same entries. */
  readonly page: string
  readonly cards: readonly Card[]
}

async function sendFeed(request: FastifyRequest, reply: FastifyReply, feed: Feed): Promise<FastifyReply> {
  // Readers would take what is missing for removed, and would not see the sentence of a page.
  if (missingShards(request.trace).length > 0) throw new Unreadable('feed')
  const { title, page, cards } = feed
  const root = request.siteOrigin
  // A static import would make each start of the site load the library's 138 files.
  const { generateAtomFeed } = await import('feedsmith')
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
