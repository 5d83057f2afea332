import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { cardsOf } from '../../domain/entries/cards.ts'
import { entriesOfPerson } from '../../domain/entries/entries.ts'
import { listPeople, personByName } from '../../domain/accounts/people.ts'
import type { Person } from '../../kinds/person.ts'
import type { Entry } from '../../kinds/entry.ts'
import type { List, Reader } from '../../domain/site/reader.ts'
import { likesOf } from '../../domain/entries/responses.ts'
import { activeFirst, lastSourcesOfPerson, sourcesOfPerson } from '../../domain/sources/sources.ts'
import { PeoplePage } from './people-page.tsx'
import { PersonPage } from './person-page.tsx'
import { PersonSourcesPage } from './person-sources-page.tsx'
import { notFound } from '../../http/problem.ts'
import { nameOf } from '../../http/request-values.ts'
import type { RouteContext } from '../index.ts'

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
    const list = await sourcesOfPerson(reader, person.id, after)
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
      view === 'entries' ? entriesOfPerson(reader, person.id, after) : likedEntries(reader, person, after),
      isNewest ? undefined : entriesOfPerson(reader, person.id),
      lastSourcesOfPerson(reader, person.id),
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
