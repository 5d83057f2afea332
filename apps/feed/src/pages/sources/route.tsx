import type { FastifyInstance } from 'fastify'
import { cardsOf } from '../../domain/entries/cards.ts'
import { entriesOfSource } from '../../domain/entries/entries.ts'
import { follow } from '../../domain/following/commands.ts'
import { followingOf, isService } from '../../domain/following/queries.ts'
import { byId } from '../../domain/site/lists.ts'
import { readThing, SKIP } from '../../domain/site/partial-reads.ts'
import { addSources } from '../../domain/sources/add-sources.ts'
import { askForFetch } from '../../domain/sources/ask-for-fetch.ts'
import { listSources } from '../../domain/sources/sources.ts'
import { notFound, Problem } from '../../http/problem.ts'
import { limits } from '../../http/rate-limits.ts'
import { cursorOf, idOf } from '../../http/request-values.ts'
import { signedIn } from '../../http/viewer.ts'
import { EMPTY_FORM } from '../../ui/form-parts.tsx'
import { pagingOf } from '../paging.ts'
import { AddSourcePage } from './add-source-page.tsx'
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
    const { viewer, site } = request
    const { data } = site
    const source = await readThing(data.sources, idOf(request, 'source'), 'source')
    if (source === undefined) throw notFound('source')
    const { id, person_id, same_as } = source
    const [list, total, owners, others, following, service] = await Promise.all([
      entriesOfSource(data, id, cursorOf(request)),
      data.entries.byPublisher.count({ publisher_id: id }, { exact: false, ...SKIP }),
      byId(data.people, [person_id]),
      byId(data.sources, [same_as]),
      followingOf(data, id, viewer?.id),
      viewer && isService(data, viewer.id, id),
    ])
    const cards = await cardsOf(data, list.items, viewer?.id)
    const paging = pagingOf(request, list)
    return reply.page((ctx) => (
      <SourcePage
        ctx={ctx}
        source={source}
        sameAs={others.get(same_as ?? '')}
        owner={owners.get(person_id ?? '')}
        following={following}
        service={service}
        total={total.complete ? total.count : undefined}
        cards={cards}
        paging={paging}
      />
    ))
  })

  app.get('/add-source', async (_request, reply) =>
    reply.page((ctx) => <AddSourcePage ctx={ctx} form={EMPTY_FORM} choice={[]} />),
  )

  const config = { rateLimit: limits.fetch }

  app.post('/add-source', { config }, async (request, reply) => {
    const { site, fields, now } = request
    const viewer = signedIn(request)
    const found = await site.feeds.discover(fields['address'] ?? '')
    if (found.type === 'refused') {
      const form = { values: fields, errors: { address: found.reason } }
      return reply.page((ctx) => <AddSourcePage ctx={ctx} form={form} choice={[]} />, 422)
    }
    const [feed, ...others] = found.feeds
    if (feed === undefined || others.length > 0) {
      const form = { values: fields, errors: {} }
      return reply.page((ctx) => <AddSourcePage ctx={ctx} form={form} choice={found.feeds} />)
    }
    const [saved] = await addSources(site.data, [feed], { personId: viewer.id, now })
    await follow(site.data, viewer.id, saved!.id, now)
    site.feeds.wake()
    return reply.redirect(`/sources/${saved!.id}`, 303)
  })

  app.post('/sources/:id/fetch', { config }, async (request, reply) => {
    const { site, now } = request
    signedIn(request)
    const id = idOf(request, 'source')
    const refusal = await askForFetch(site.data, id, now)
    if (refusal !== undefined) throw new Problem(409, 'Not now', refusal)
    site.feeds.wake()
    return reply.redirect(`/sources/${id}`, 303)
  })
}
