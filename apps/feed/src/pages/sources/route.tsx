import type { FastifyInstance } from 'fastify'
import { cardsOf } from '../../domain/entries/cards.ts'
import { entriesOfSource } from '../../domain/entries/entries.ts'
import { byId } from '../../domain/site/lists.ts'
import { listSources } from '../../domain/sources/sources.ts'
import { notFound } from '../../http/problem.ts'
import { cursorOf, idOf } from '../../http/request-values.ts'
import { pagingOf } from '../paging.ts'
import { SourcePage } from './source-page.tsx'
import { SourcesPage } from './sources-page.tsx'

export async function sourceRoutes(app: FastifyInstance): Promise<void> {
  app.get('/sources', async (request, reply) => {
    const { data } = request.site
    const list = await listSources(data, cursorOf(request))
    const owners = await byId(
      data.people,
      list.items.map((source) => source.person_id),
    )
    const paging = pagingOf(request, list)
    return reply.page((ctx) => <SourcesPage ctx={ctx} sources={list.items} owners={owners} paging={paging} />)
  })

  app.get('/sources/:id', async (request, reply) => {
    const { data } = request.site
    const source = await data.sources.get(idOf(request, 'source'))
    if (source === undefined) throw notFound('source')
    const { id, person_id } = source
    const [list, total, owner] = await Promise.all([
      entriesOfSource(data, id, cursorOf(request)),
      data.entries.bySource.count({ source_id: id }, { exact: false }),
      person_id === undefined ? undefined : data.people.get(person_id),
    ])
    const cards = await cardsOf(data, list.items, request.viewer?.id)
    const paging = pagingOf(request, list)
    return reply.page((ctx) => (
      <SourcePage ctx={ctx} source={source} owner={owner} total={total} cards={cards} paging={paging} />
    ))
  })
}
