import type { FastifyInstance } from 'fastify'
import { cardsOf } from '../model/cards.ts'
import { entriesOfSource } from '../model/entries.ts'
import { peopleById, personById } from '../model/people.ts'
import { countEntriesOfSource, listSources, sourceById } from '../model/sources.ts'
import { SourcePage } from '../views/source-page.tsx'
import { SourcesPage } from '../views/sources-page.tsx'
import { notFound } from '../web/problem.ts'
import { idOf } from '../web/request-values.ts'
import type { RouteContext } from './index.ts'

export function registerSourceRoutes(app: FastifyInstance, { pages }: RouteContext): void {
  app.get('/sources', async (request, reply) => {
    const { ctx, reader, after, paging } = await pages.openList(request)
    const list = await listSources(reader, after)
    const owners = await peopleById(
      reader,
      list.items.map((source) => source.user_id).filter((id) => id !== undefined),
    )
    return pages.send(
      reply,
      <SourcesPage ctx={ctx} sources={list.items} owners={owners} paging={paging(list)} />,
    )
  })

  app.get('/sources/:id', async (request, reply) => {
    const { ctx, reader, after, paging } = await pages.openList(request)
    const source = await sourceById(reader, idOf(request, 'source'))
    if (source === undefined) throw notFound('source')
    const [list, total, owner] = await Promise.all([
      entriesOfSource(reader, source.id, after),
      countEntriesOfSource(reader, source.id),
      source.user_id === undefined ? undefined : personById(reader, source.user_id),
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
