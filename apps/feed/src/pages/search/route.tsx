import type { FastifyInstance, FastifyRequest } from 'fastify'
import { cardsOf } from '../../domain/entries/cards.ts'
import { parseSearch, type Search } from '../../domain/search/parse-search.ts'
import { entriesTagged, searchEntries } from '../../domain/search/queries.ts'
import { invalidAddress } from '../../http/problem.ts'
import { cursorOf } from '../../http/request-values.ts'
import { pagingOf } from '../paging.ts'
import { SearchPage, type SearchAnswer } from './search-page.tsx'
import { TagPage } from './tag-page.tsx'
import { isolated } from '../../text/isolated.ts'

export async function searchRoutes(app: FastifyInstance): Promise<void> {
  app.get('/search', async (request, reply) => {
    const { q = '' } = request.query as Partial<Record<string, unknown>>
    if (typeof q !== 'string') throw invalidAddress()
    const text = q.trim()
    const answer = await answerTo(request, text)
    const status = answer.type === 'refused' ? 422 : 200
    return reply.page((ctx) => <SearchPage ctx={ctx} text={text} answer={answer} />, status)
  })

  app.get('/tags/:tag', async (request, reply) => {
    const { data } = request.site
    const { tag } = request.params as { tag: string }
    const list = await entriesTagged(data, tag, cursorOf(request))
    const cards = await cardsOf(data, list.items, request.viewer?.id)
    const paging = pagingOf(request, list)
    return reply.page((ctx) => <TagPage ctx={ctx} tag={tag} cards={cards} paging={paging} />)
  })
}

async function answerTo(request: FastifyRequest, text: string): Promise<SearchAnswer> {
  const { data } = request.site
  if (text === '') return { type: 'help' }
  const parsed = parseSearch(text)
  if (!parsed.ok) return { type: 'refused', reason: parsed.reason }
  const { search } = parsed
  const found = await searchEntries(data, search, cursorOf(request))
  if (found.type === 'unknown') return { type: 'refused', reason: unknownReason(found.operator, search) }
  if (found.type === 'sources') {
    const sources = found.sources.map((source) => ({ source, href: searchIn(text, source.id) }))
    return { type: 'sources', sources }
  }
  const cards = await cardsOf(data, found.items, request.viewer?.id)
  const paging = pagingOf(request, found)
  return { type: 'cards', cards, terms: new Set(search.terms), paging, gaveUp: found.gaveUp }
}

function unknownReason(operator: 'from' | 'source', { from = '', source = '' }: Search): string {
  return operator === 'from'
    ? `No person here has the name “${isolated(from.slice(0, 40))}”. from: takes the name in the address of a person’s page.`
    : `No source has “${isolated(source.slice(0, 80))}” in its title.`
}

/** Returns the address of a search in one source. */
function searchIn(text: string, sourceId: string): string {
  const narrowed = text.replace(/[“”„]/g, '"').replace(/source:(?:"[^"]*"?|[^\s"]*)/iu, `source:${sourceId}`)
  return `/search?q=${encodeURIComponent(narrowed)}`
}
