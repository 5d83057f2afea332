import type { FastifyInstance } from 'fastify'
import { cardsOf } from '../../domain/entries/cards.ts'
import { entriesOfSource } from '../../domain/entries/entries.ts'
import { listSources } from '../../domain/sources/sources.ts'
import { SourcePage } from './source-page.tsx'
import { SourcesPage } from './sources-page.tsx'
import { notFound } from '../../http/problem.ts'
import { idOf } from '../../http/request-values.ts'
import type { RouteContext } from '../index.ts'

export function registerSourceRoutes(app: FastifyInstance, { pages }: RouteContext): void {
  app.get('/sources', async (request, reply) => {
    const { ctx, reader, after, paging } = await pages.openList(request)
    const list = await listSources(reader, after)
    const owners = await reader.getMany(
      reader.data.people,
      list.items.map((source) => source.person_id),
    )
    return pages.send(
      reply,
      <SourcesPage ctx={ctx} sources={list.items} owners={owners} paging={paging(list)} />,
    )
  })

  app.get('/sources/:id', async (request, reply) => {
    const { ctx, reader, after, paging } = await pages.openList(request)
    const source = await reader.get(reader.data.sources, idOf(request, 'source'))
    if (source === undefined) throw notFound('source')
    const { id, person_id } = source
    const [list, total, owner] = await Promise.all([
      entriesOfSource(reader, id, after),
      reader.count(reader.data.entries.bySource, { source_id: id }),
      person_id === undefined ? undefined : reader.get(reader.data.people, person_id),
    ])
    const cards = await cardsOf(reader, list.items, ctx.viewer?.id)
    return pages.send(
      reply,
      <SourcePage
        ctx={ctx}
        source={source}
        owner={owner}
        total={total}
        cards={cards}
        paging={paging(list)}
      />,
    )
  })
}
