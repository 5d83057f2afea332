import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { listPeople } from '../../domain/accounts/people.ts'
import { cardsOf } from '../../domain/entries/cards.ts'
import { entriesOfPerson } from '../../domain/entries/entries.ts'
import { likesOf } from '../../domain/entries/responses.ts'
import { followingOf, serviceIdsOf, servicesOf } from '../../domain/following/queries.ts'
import { byId, type List } from '../../domain/site/lists.ts'
import { sourcesOnProfile } from '../../domain/sources/sources.ts'
import { cursorOf } from '../../http/request-values.ts'
import type { Entry } from '../../kinds/entry.ts'
import type { Person } from '../../kinds/person.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { pagingOf } from '../paging.ts'
import { PeoplePage } from './people-page.tsx'
import { personOf } from './person-of.ts'
import { PersonPage } from './person-page.tsx'
import { PersonSourcesPage } from './person-sources-page.tsx'

export async function peopleRoutes(app: FastifyInstance): Promise<void> {
  app.get('/people', async (request, reply) => {
    const list = await listPeople(request.site.data, cursorOf(request))
    const paging = pagingOf(request, list)
    return reply.page((ctx) => <PeoplePage ctx={ctx} people={list.items} paging={paging} />)
  })

  app.get('/people/:name', (request, reply) => sendPerson(request, reply, 'entries'))
  app.get('/people/:name/likes', (request, reply) => sendPerson(request, reply, 'likes'))

  app.get('/people/:name/sources', async (request, reply) => {
    const person = await personOf(request)
    const sources = await servicesOf(request.site.data, person.id)
    return reply.page((ctx) => <PersonSourcesPage ctx={ctx} person={person} sources={sources} />)
  })
}

async function sendPerson(
  request: FastifyRequest,
  reply: FastifyReply,
  view: 'entries' | 'likes',
): Promise<FastifyReply> {
  const { data } = request.site
  const after = cursorOf(request)
  const person = await personOf(request)
  const services = await serviceIdsOf(data, person.id)
  const [list, sources, following] = await Promise.all([
    view === 'entries'
      ? entriesOfPerson(data, person.id, services, after)
      : likedEntries(data, person, after),
    sourcesOnProfile(data, services),
    followingOf(data, person.id, request.viewer?.id),
  ])
  const cards = await cardsOf(data, list.items, request.viewer?.id)
  const paging = pagingOf(request, list)
  return reply.page((ctx) => (
    <PersonPage
      ctx={ctx}
      person={person}
      following={following}
      sources={sources}
      view={view}
      cards={cards}
      paging={paging}
    />
  ))
}

async function likedEntries(data: SiteData, person: Person, after: string | undefined): Promise<List<Entry>> {
  const likes = await likesOf(data, person.id, after)
  const entries = await byId(
    data.entries,
    likes.items.map((like) => like.entry_id),
  )
  return { ...likes, items: [...entries.values()].filter(({ removed }) => removed === undefined) }
}
