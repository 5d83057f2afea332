import type { LightMyRequestResponse } from 'fastify'
import { LooseleafError, memoryShards, type EntityId } from 'looseleaf'
import { afterEach, beforeAll, afterAll, describe, expect, test } from 'vitest'
import { followId } from '../src/kinds/follow.ts'
import { SKIP } from '../src/domain/site/partial-reads.ts'
import type { Refuse } from '../src/stage/faults/shard-faults.ts'
import { createVisitor, openTestSite, textOf, type TestSite, type Visitor } from './support.ts'

const BAR = 'does not answer: some entries, comments and names may be missing.'
const SHARDS = ['memory 0', 'memory 1'] as const

let site: TestSite
/** Ids and names of people, by the shard of the person. */
let people: Record<string, { readonly id: string; readonly name: string }[]>
let entries: Record<string, string[]>
let sources: Record<string, string[]>
beforeAll(async () => {
  // Pages say how long ago things were, which their tags include.
  const now = new Date()
  site = await openTestSite({ shards: memoryShards(2), offered: true, now: () => now })
  const { data } = site.site
  const [everybody, news, feeds] = await Promise.all([
    data.people.byTime.page({}, { limit: 100, scatter: true }),
    data.entries.byTime.page({}, { order: 'desc', limit: 100, scatter: true }),
    data.sources.byTime.page({}, { limit: 100, scatter: true }),
  ])
  const items = [...everybody.items, ...news.items, ...feeds.items]
  const shardOf = new Map<string, string>()
  for (const shard of SHARDS) {
    stop(shard)
    const { unread } = await site.site.store.getMany(
      items.map(({ id }) => id),
      SKIP,
    )
    for (const id of unread) shardOf.set(id, shard)
    bringBack()
  }
  const byShard = <T extends { readonly id: string }>(things: readonly T[]): Record<string, T[]> =>
    Object.fromEntries(SHARDS.map((shard) => [shard, things.filter(({ id }) => shardOf.get(id) === shard)]))
  people = byShard(everybody.items)
  entries = Object.fromEntries(
    Object.entries(byShard(news.items)).map(([shard, some]) => [shard, some.map(({ id }) => id)]),
  )
  sources = Object.fromEntries(
    Object.entries(byShard(feeds.items)).map(([shard, some]) => [shard, some.map(({ id }) => id)]),
  )
})
afterEach(() => bringBack())
afterAll(() => site.close())

function stop(shard: string): void {
  const refuse: Refuse = (call) =>
    call.shard === shard
      ? new LooseleafError('SHARD_UNAVAILABLE', `The shard ${shard} is down.`, { shard })
      : undefined
  site.stage.faults.refusals.add(refuse)
}

function bringBack(): void {
  site.stage.faults.refusals.clear()
}

const other = (shard: string): string => SHARDS.find((name) => name !== shard)!
const hasBar = ({ body }: LightMyRequestResponse): boolean => textOf(body).includes(BAR)
const cards = ({ body }: LightMyRequestResponse): string[] =>
  Array.from(body.matchAll(/<article[^>]* id="e-([^"]+)"/g), ([, id]) => id as string)

async function visitorOn(shard: string | undefined): Promise<Visitor> {
  const visitor = createVisitor(site.app)
  // The first page with a form sets the cookie of forms.
  await visitor.get('/join')
  if (shard !== undefined) expect((await visitor.signIn(people[shard]![0]!.name)).statusCode).toBe(303)
  return visitor
}

/** Pages that do not depend on a single thing. The second value tells whether the page asks all shards. */
const PUBLIC = [
  ['/', true],
  ['/everything', true],
  ['/people', true],
  ['/sources', true],
  ['/sign-in', true],
  ['/join', false],
  ['/add-source', false],
  ['/import', false],
] as const

describe.each(SHARDS)('with %s stopped', (shard) => {
  describe.each(['a visitor', `a person on ${SHARDS[0]}`, `a person on ${SHARDS[1]}`])('%s', (who) => {
    const home = SHARDS.find((name) => who.endsWith(name))

    test('all lists come with a bar that names the shard, until it is back', async () => {
      const visitor = await visitorOn(home)
      const whole = new Map<string, LightMyRequestResponse>()
      for (const [path] of PUBLIC) whole.set(path, await visitor.get(path))
      stop(shard)
      for (const [path, asksAll] of PUBLIC) {
        const reply = await visitor.get(path)
        expect([path, reply.statusCode]).toEqual([path, 200])
        if (asksAll || home === shard) expect([path, hasBar(reply)]).toEqual([path, true])
        if (hasBar(reply)) expect(reply.headers['cache-control']).toBe('no-store')
        if (hasBar(reply))
          expect(textOf(reply.body)).toContain(`A part of the store (${shard}) does not answer`)
        expect([path, textOf(reply.body).includes('Signed in as')]).toEqual([path, home === other(shard)])
        if (!hasBar(reply)) continue
        expect(textOf(reply.body).includes('you are still signed in')).toBe(home === shard)
        // Signing in again could not help.
        if (home === shard && !['/sign-in', '/join'].includes(path))
          expect(reply.body).not.toContain('href="/sign-in')
      }
      bringBack()
      for (const [path] of PUBLIC) {
        const reply = await visitor.get(path)
        expect(hasBar(reply)).toBe(false)
        expect(cards(reply)).toEqual(cards(whole.get(path)!))
        expect(reply.headers.etag).toBe(whole.get(path)!.headers.etag)
      }
    })

    test('entries, sources and people on the other shard come as ever, and those on this one get 503', async () => {
      const visitor = await visitorOn(home)
      stop(shard)
      const things = [entries, sources].flatMap((kind, i) =>
        SHARDS.flatMap((of) =>
          kind[of]!.slice(0, 3).map((id) => [of, `/${i === 0 ? 'entries' : 'sources'}/${id}`] as const),
        ),
      )
      for (const [of, path] of things) {
        const reply = await visitor.get(path)
        expect([path, reply.statusCode]).toEqual([path, of === shard ? 503 : 200])
        if (of === shard) expect(reply.headers['retry-after']).toBe('10')
        if (of === shard) expect(textOf(reply.body)).toContain('cannot be read at the moment')
        if (of === shard) expect(reply.body).toContain(`href="${path}">Try again</a>`)
      }
      const found: number[] = []
      for (const of of SHARDS)
        for (const { name } of people[of]!.slice(0, 6))
          for (const page of ['', '/likes', '/sources']) {
            const { statusCode } = await visitor.get(`/people/${name}${page}`)
            // The name of a person on the other shard may still be on this one.
            expect(of === shard ? [503] : [200, 503]).toContain(statusCode)
            found.push(statusCode)
          }
      expect(found).toContain(200)
      for (const path of ['/people/noone', `/entries/${site.site.store.newId()}`])
        expect([404, 503]).toContain((await visitor.get(path)).statusCode)
    })
  })

  test('a signed-in person reads all own pages, or is told that the account cannot be read', async () => {
    const own = ['/following', '/post', '/settings', '/settings/services', '/import']
    for (const home of SHARDS) {
      const visitor = await visitorOn(home)
      stop(shard)
      for (const path of own) {
        const reply = await visitor.get(path)
        const expected = home === shard && path !== '/import' ? 503 : 200
        expect([path, reply.statusCode]).toEqual([path, expected])
        if (expected === 503)
          expect(textOf(reply.body)).toContain('Your account cannot be read at the moment')
      }
      bringBack()
      for (const path of own) {
        const reply = await visitor.get(path)
        expect([path, reply.statusCode, hasBar(reply)]).toEqual([path, 200, false])
        expect(textOf(reply.body)).toContain('Signed in as')
      }
    }
  })

  test('a form of a person whose account is missing says that nothing was saved, and saves nothing', async () => {
    const visitor = await visitorOn(shard)
    const { id } = people[shard]![0]!
    const ofPerson = (): Promise<number> => site.site.data.entries.byPublisher.count({ publisher_id: id })
    const before = await ofPerson()
    stop(shard)
    const reply = await visitor.post('/post', { title: 'Written during an outage', link: '' })
    expect([reply.statusCode, reply.headers['retry-after']]).toEqual([503, '10'])
    expect(textOf(reply.body)).toContain('Nothing has been saved or changed')
    bringBack()
    expect(await ofPerson()).toBe(before)
    expect(textOf((await visitor.get('/')).body)).toContain('Signed in as')
  })

  test('a refused form is kept on its error page, and sending it again saves it once', async () => {
    const visitor = await visitorOn(shard)
    const { id } = people[shard]![0]!
    const title = `Typed & kept during an outage of ${shard}`
    const fields = { title, link: 'https://example.org/typed', once: site.site.store.newId({ near: id }) }
    stop(shard)
    const refused = await visitor.post('/post', fields)
    bringBack()
    const [, action, form = ''] =
      /<main.*<form method="post" action="([^"]+)">(.*?)<\/form>/s.exec(refused.body) ?? []
    const kept = Array.from(
      form.matchAll(/name="([^"]+)" value="([^"]*)"/g),
      ([, name, value]) => [name as string, (value as string).replace('&amp;', '&')] as const,
    )
    expect(action).toBe('/post')
    expect(Object.fromEntries(kept)).toMatchObject(fields)
    for (let i = 0; i < 2; i++) {
      const sent = await visitor.post('/post', Object.fromEntries(kept))
      expect([sent.statusCode, sent.headers.location]).toEqual([303, `/entries/${fields.once}`])
    }
    const page = await visitor.get(`/entries/${fields.once}`)
    expect(textOf(page.body)).toContain(title)
    await site.site.data.entries.delete(fields.once)
  })

  test('the error page of a refused form with a password does not contain the password', async () => {
    const visitor = await visitorOn(shard)
    await visitor.get('/settings')
    stop(shard)
    const refused = await visitor.post('/settings/password', {
      password: 'a secret word',
      next: 'another one',
    })
    expect(refused.statusCode).toBe(503)
    expect(refused.body).not.toContain('secret word')
    expect(textOf(refused.body)).toContain('Go back to your form to send it.')
  })

  test('a comment on an entry of the stopped shard is refused, and says that it was not saved', async () => {
    const visitor = await visitorOn(other(shard))
    const [entry] = entries[shard]!
    stop(shard)
    const reply = await visitor.post(`/entries/${entry}/comments`, { text: 'Written during an outage' })
    expect(reply.statusCode).toBe(503)
    expect(textOf(reply.body)).toContain('was not saved')
    bringBack()
    expect(textOf((await visitor.get(`/entries/${entry}`)).body)).not.toContain('Written during an outage')
  })

  test('a form that was saved in part says so, and sending it again saves the rest', async () => {
    const visitor = await visitorOn(other(shard))
    const { id } = people[other(shard)]![0]!
    const { data } = site.site
    const outcomes: string[] = []
    for (const channel of sources[other(shard)]!) {
      const fresh = followId(id, channel)
      await data.follows.delete(fresh)
      await visitor.get(`/sources/${channel}`)
      stop(shard)
      const reply = await visitor.post('/follow', { channel, back: '/' })
      bringBack()
      const isSaved = await data.follows.exists(fresh)
      const text = textOf(reply.body)
      if (reply.statusCode === 303) expect(isSaved).toBe(true)
      else expect([reply.statusCode, text.includes('may be saved in part')]).toEqual([503, isSaved])
      outcomes.push(`${reply.statusCode} ${isSaved}`)
      expect((await visitor.post('/follow', { channel, back: '/' })).statusCode).toBe(303)
      expect(await data.follows.exists(fresh)).toBe(true)
    }
    expect(outcomes).toContain('503 true')
  })

  test('Atom feeds answer 503, because a reader would take missing entries for removed ones', async () => {
    const paths = ['/feed.atom', `/people/${people[other(shard)]![0]!.name}/feed.atom`]
    stop(shard)
    const feed = await site.app.inject(paths[0]!)
    expect([feed.statusCode, feed.headers['retry-after'], feed.headers['content-type']]).toEqual([
      503,
      '10',
      'text/plain; charset=utf-8',
    ])
    bringBack()
    for (const path of paths) expect((await site.app.inject(path)).statusCode).toBe(200)
  })

  test('a list has all entries of the other shard, and calls no name of the stopped one a former member', async () => {
    stop(shard)
    const visitor = await visitorOn(undefined)
    const reply = await visitor.get('/everything')
    expect(cards(reply)).toEqual(entries[other(shard)]!.slice(0, cards(reply).length))
    expect(cards(reply).length).toBeGreaterThan(5)
    expect(textOf(reply.body)).not.toContain('former member')
    expect(textOf(reply.body)).toContain('A missing name')
  })

  test('a search has the matching entries of the other shard, in order, below the bar', async () => {
    const whole: string[] = []
    for (let next = '/search?q=the'; next !== '';) {
      const reply = await site.app.inject(next)
      expect(hasBar(reply)).toBe(false)
      whole.push(...cards(reply))
      next = (/rel="next" href="([^"]+)"/.exec(reply.body)?.[1] ?? '').replaceAll('&amp;', '&')
    }
    stop(shard)
    const { unread } = await site.site.store.getMany(whole as EntityId[], SKIP)
    const missing = new Set<string>(unread)
    const left = whole.filter((id) => !missing.has(id))
    expect([unread.length, left.length].every((count) => count > 5)).toBe(true)
    const reply = await site.app.inject('/search?q=the')
    expect([reply.statusCode, reply.headers['cache-control'], hasBar(reply)]).toEqual([200, 'no-store', true])
    expect(cards(reply)).toEqual(left.slice(0, 20))
    const nothing = await site.app.inject('/search?q=qqqqq')
    expect([nothing.statusCode, hasBar(nothing)]).toEqual([200, true])
    expect(textOf(nothing.body)).not.toContain('Nothing found')
  })

  test('a search from a person of the stopped shard says that the person cannot be read', async () => {
    stop(shard)
    const found: number[] = []
    for (const of of SHARDS)
      for (const { name } of people[of]!.slice(0, 6)) {
        const reply = await site.app.inject(`/search?q=from:${name}`)
        // The name of a person on the other shard may still be on this one.
        expect([name, (of === shard ? [503] : [200, 503]).includes(reply.statusCode)]).toEqual([name, true])
        found.push(reply.statusCode)
      }
    expect(found).toContain(200)
  })

  test('a page that a browser has kept whole is not confirmed while it is partial', async () => {
    const { headers } = await site.app.inject('/everything')
    stop(shard)
    const again = await site.app.inject({
      url: '/everything',
      headers: { 'if-none-match': headers.etag as string },
    })
    expect(again.statusCode).toBe(200)
    expect(hasBar(again)).toBe(true)
  })
})

test('an empty site with a stopped shard does not say that there is nothing', async () => {
  const empty = await openTestSite({ sample: false })
  try {
    empty.stage.faults.refusals.add((call) =>
      call.shard === 'memory 0' ? new LooseleafError('SHARD_UNAVAILABLE', 'Down.') : undefined,
    )
    for (const path of ['/', '/people', '/sources']) {
      const text = textOf((await empty.app.inject(path)).body)
      expect(text).toContain('Nothing could be read')
      expect(text).not.toMatch(/empty page|No people yet|No sources yet/)
    }
  } finally {
    await empty.close()
  }
})
