import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { cardsOf } from '../model/cards.ts'
import { entriesOfUser } from '../model/entries.ts'
import { listPeople, personByName } from '../model/people.ts'
import type { Person, Entry } from '../model/entities.ts'
import type { List, Reader } from '../model/reader.ts'
import { likesOf } from '../model/responses.ts'
import { activeFirst, lastSourcesOfUser, sourcesOfUser } from '../model/sources.ts'
import { PeoplePage } from '../views/people-page.tsx'
import { PersonPage } from '../views/person-page.tsx'
import { PersonSourcesPage } from '../views/person-sources-page.tsx'
import { notFound } from '../web/problem.ts'
import { nameOf } from '../web/request-values.ts'
import type { RouteContext } from './index.ts'

export function registerPeopleRoutes(app: FastifyInstance, { pages }: RouteContext): void {
  app.get('/people', async (request, reply) => {
    const { ctx, reader, after, paging } = await pages.openList(request)
    const list = await listPeople(reader, after)
    return pages.send(reply, <PeoplePage ctx={ctx} people={list.items} paging={paging(list)} />)
  })

  app.get('/people/:name', (request, reply) => sendPerson(request, reply, 'entries'))
  app.get('/people/:name/likes', (request, reply) => sendPerson(request, reply, 'likes'))

  app.get('/people/:name/sources', async (request, reply) => {
    const { ctx, reader, after, paging } = await pages.openList(request)
    const person = await personByName(reader, nameOf(request))
    if (person === undefined) throw notFound('person of this name')
    const list = await sourcesOfUser(reader, person.id, after)
    return pages.send(
      reply,
      <PersonSourcesPage ctx={ctx} person={person} sources={list.items} paging={paging(list)} />,
    )
  })

  async function sendPerson(
    request: FastifyRequest,
    reply: FastifyReply,
    view: 'entries' | 'likes',
  ): Promise<FastifyReply> {
    const { ctx, reader, after, paging } = await pages.openList(request)
    const person = await personByName(reader, nameOf(request))
    if (person === undefined) throw notFound('person of this name')
    const isNewest = view === 'entries' && after === undefined
    const [list, newest, last] = await Promise.all([
      view === 'entries' ? entriesOfUser(reader, person.id, after) : likedEntries(reader, person, after),
      isNewest ? undefined : entriesOfUser(reader, person.id),
      lastSourcesOfUser(reader, person.id),
    ])
    const [cards, newestSources] = await Promise.all([
      cardsOf(reader, list.items, ctx.viewer?.id),
      reader.getMany(reader.data.sources, newest?.items.map((entry) => entry.source_id) ?? []),
    ])
    const active = isNewest ? cards.map(({ source }) => source) : [...newestSources.values()]
    return pages.send(
      reply,
      <PersonPage
        ctx={ctx}
        person={person}
        sources={activeFirst(person.id, last, active)}
        view={view}
        cards={cards}
        paging={paging(list)}
      />,
    )
  }
}

async function likedEntries(reader: Reader, person: Person, after: string | undefined): Promise<List<Entry>> {
  const likes = await likesOf(reader, person.id, after)
  const ids = likes.items.map((like) => like.entry_id)
  const entries = await reader.getMany(reader.data.entries, ids)
  return { ...likes, items: [...entries.values()] }
}
