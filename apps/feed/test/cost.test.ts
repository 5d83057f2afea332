import { createRequire } from 'node:module'
import { memoryShards } from 'looseleaf'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { inboxItemId } from '../src/kinds/inbox-item.ts'
import { followId } from '../src/kinds/follow.ts'
import { freshEntry } from '../src/domain/entries/fresh-entry.ts'
import { backfill, itemOf } from '../src/domain/home/commands.ts'
import { postEntry } from '../src/domain/entries/entries.ts'
import {
  addOffered,
  addPeople,
  createVisitor,
  openTestSite,
  statementsIn,
  textOf,
  type TestSite,
  type Visitor,
} from './support.ts'

/** Visits of each page from which the store has learned enough. */
const ROUNDS = 3

let site: TestSite
beforeAll(async () => {
  site = await openTestSite({ shards: memoryShards(2) })
  await fillHomeOf('mira')
  await warmUp()
})
afterAll(() => site.close())

/** Lets a person follow sources, whose latest entries fill the person's home page. */
async function fillHomeOf(name: string): Promise<void> {
  const { data } = site.site
  const person_id = (await data.people.byName.first({ name }))?.id ?? ''
  const sources = await data.sources.byTime.page({}, { limit: 6, scatter: true })
  for (const { id: channel_id } of sources.items) {
    const follow = { person_id, channel_id, since: new Date() }
    await data.follows.insert(follow, { id: followId(person_id, channel_id) })
    await backfill(data, person_id, channel_id)
  }
}

/**
 * Visits all pages until the store has learned from all of their rows where each index leads, because it reads rows and entities together
 * if they are mostly on one shard. Otherwise the cost of a page would depend on the pages before it.
 */
async function warmUp(): Promise<void> {
  const visitors = [createVisitor(site.app), createVisitor(site.app)] as const
  await visitors[1].signIn('mira')
  for (let round = 0; round < ROUNDS; round++)
    for (const [page] of BUDGETS)
      for (const visitor of visitors) await visitor.get(await addressOf(page, visitor))
}

interface Statement {
  readonly source: string
  all(...parameters: unknown[]): unknown
  run(...parameters: unknown[]): unknown
}

/**
 * A process reads the catalog every few seconds, and looks at the row of each shard that it reads at most every two seconds, in
 * the background and independently of pages: statements that read `looseleaf_meta` alone. The foot of a page does not count them.
 */
const OF_PROCESS = /^\s*SELECT\b(?:(?!\bFROM\b).)*\bFROM "looseleaf_meta" WHERE id = 1\s*$/is

/** Returns the statements that SQLite runs during some work, without those of the process. */
async function executed<T>(work: () => Promise<T>): Promise<{ result: T; statements: string[] }> {
  // The same copy of the client that the SQLite driver imports.
  const require = createRequire(new URL('../../../packages/driver-sqlite/package.json', import.meta.url))
  const Database = require('better-sqlite3') as new (file: string) => {
    prepare(sql: string): Statement
    close(): void
  }
  const database = new Database(':memory:')
  const prototype = Object.getPrototypeOf(database.prepare('SELECT 1')) as Statement
  database.close()
  const { all, run } = prototype
  const statements: string[] = []
  const counting = (method: Statement['all']) =>
    function (this: Statement, ...parameters: unknown[]): unknown {
      statements.push(this.source)
      return method.apply(this, parameters)
    }
  Object.assign(prototype, { all: counting(all), run: counting(run) })
  try {
    const result = await work()
    return { result, statements: statements.filter((sql) => !OF_PROCESS.test(sql)) }
  } finally {
    Object.assign(prototype, { all, run })
  }
}

/**
 * Each page with its number of statements on two shards, for a visitor and for a signed-in person. A page of a person, and a search from
 * one, reads the person's services by one statement, and then the ranges of all channels by one per shard, however many they are.
 */
const BUDGETS: readonly [path: string, anybody: number, signedIn: number][] = [
  ['/', 8, 12],
  ['/ older', 8, 12],
  ['/everything', 8, 11],
  ['/feed.atom', 8, 8],
  ['/people', 2, 5],
  ['/people/mira', 14, 17],
  ['/people/mira/likes older', 15, 18],
  ['/people/mira/likes', 15, 18],
  ['/people/mira/sources', 4, 7],
  ['/people/mira/feed.atom', 13, 13],
  ['/sources', 4, 7],
  ['a source', 11, 15],
  ['an entry', 4, 8],
  ['/import', 0, 4],
  ['/search', 0, 3],
  ['/search?q=the', 8, 11],
  ['/search?q=the+a', 11, 14],
  ['/search?q=the+from:mira', 17, 20],
  ['/tags/bread', 9, 12],
  ['/sign-in', 2, 5],
  ['/join', 0, 3],
  ['/following', 0, 6],
  ['/settings', 0, 5],
  ['/settings/services', 0, 5],
  ['/post', 0, 3],
  ['/nothing', 0, 3],
]

/** Returns the address of a page, found on another page if it contains an id or a cursor. */
async function addressOf(page: string, visitor: Visitor): Promise<string> {
  const find = async (from: string, pattern: RegExp): Promise<string> =>
    pattern.exec((await visitor.get(from)).body)?.[1]?.replaceAll('&amp;', '&') as string
  if (page === 'a source') return find('/sources', /href="(\/sources\/[^"#]+)"/)
  if (page === 'an entry') return find('/', /href="(\/entries\/[^"#]+)"/)
  const [path, older] = page.split(' ') as [string, string?]
  return older === undefined ? path : find(path, /rel="next" href="([^"]+)"/)
}

describe.each(BUDGETS)('%s', (page, anybody, signedIn) => {
  test.each([
    [undefined, anybody],
    ['mira', signedIn],
  ])('the page takes its budgeted number of statements, and its foot shows it: %s', async (name, budget) => {
    const visitor = createVisitor(site.app)
    if (name !== undefined) await visitor.signIn(name)
    const path = await addressOf(page, visitor)
    // The first visit of an entry marks it as read.
    if (page === 'an entry') await visitor.get(path)
    const { result, statements } = await executed(() => visitor.get(path))
    expect(result.statusCode).toBeLessThan(500)
    // A failure lists the statements.
    expect(statements.length === budget ? [] : statements).toEqual([])
    const hasFoot = budget > 0 && !page.endsWith('.atom')
    expect(hasFoot ? statementsIn(result.body) : statements.length).toBe(statements.length)
  })
})

test('the entries with the same link cost two statements with the index, and none without it', async () => {
  const another = await openTestSite({ sample: false })
  try {
    const { data } = another.site
    const [mira] = await addPeople(another, ['mira'])
    const entry = { person_id: mira?.id ?? '', link: 'https://example.org/once' }
    const first = await postEntry(data, { ...entry, title: 'First' })
    await postEntry(data, { ...entry, title: 'Second' })
    const path = `/entries/${first}`
    const visitor = createVisitor(another.app)
    const count = async (): Promise<number> => {
      const { result, statements } = await executed(() => visitor.get(path))
      expect(result.body.includes('Also shared by')).toBe(another.site.data.entries.byLink.isReady())
      return statements.length
    }
    const without = await count()
    expect(without).toBe(BUDGETS.find(([page]) => page === 'an entry')?.[1])
    await addOffered(another.site)
    // One statement for index rows, and one for the entries, which are on one shard.
    expect(await count()).toBe(without + 2)
  } finally {
    await another.close()
  }
})

test('the stories of a home page cost no statement', async () => {
  const another = await openTestSite({ sample: false })
  try {
    const { data } = another.site
    const [mira, ada] = await addPeople(another, ['mira', 'ada'])
    const at = new Date()
    for (const [i, person] of [mira, ada].entries()) {
      for (let each = 0; each < 8; each++) {
        const facts = { title: `${i} ${each}`, link: `https://example.org/${each}`, published: at }
        const entry = await data.entries.insert(freshEntry({ ...facts, person_id: person?.id ?? '' }, at))
        const item = itemOf(entry, mira?.id ?? '', [person?.id ?? ''], at)
        await data.inbox.insert(item, { id: inboxItemId(mira?.id ?? '', entry.id) })
      }
    }
    const visitor = createVisitor(another.app)
    await visitor.signIn(mira?.name ?? '')
    const count = async (): Promise<[cards: number, statements: number]> => {
      await visitor.get('/')
      const { result, statements } = await executed(() => visitor.get('/'))
      return [result.body.match(/<article/g)?.length ?? 0, statements.length]
    }
    const [cards, without] = await count()
    await addOffered(another.site)
    expect(await count()).toEqual([cards - 8, without])
  } finally {
    await another.close()
  }
})

test('a home page with 40 channels that are read at each visit takes as many statements as one without, once their lists are read', async () => {
  // Lists that are in memory stay there.
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const another = await openTestSite({ sample: false })
  try {
    const { data } = another.site
    const at = new Date()
    const about = { bio: '', hue: 1, joined: at, sample: true }
    const [pulling, pushed] = await data.people.insertMany(
      ['pulling', 'pushed'].map((name) => ({ ...about, name, full_name: name })),
    )
    for (let i = 0; i < 40; i++) {
      const source = await data.sources.insert({ title: `Source ${i}`, about: '', known_as: [], added: at })
      const facts = { title: `Entry ${i}`, published: at, source_id: source.id }
      const entry = await data.entries.insert(freshEntry(facts, at))
      for (const person of [pulling, pushed]) {
        const person_id = person?.id ?? ''
        const follow = { person_id, channel_id: source.id, since: at }
        const mark = person === pulling ? { pulled_by: person_id } : {}
        await data.follows.insert({ ...follow, ...mark }, { id: followId(person_id, source.id) })
      }
      const item = itemOf(entry, pushed?.id ?? '', [source.id], at)
      await data.inbox.insert(item, { id: inboxItemId(pushed?.id ?? '', entry.id) })
    }
    const count = async (name: string): Promise<[cards: number, statements: number]> => {
      const visitor = createVisitor(another.app)
      await visitor.signIn(name)
      await visitor.get('/')
      const { result, statements } = await executed(() => visitor.get('/'))
      return [result.body.match(/<article/g)?.length ?? 0, statements.length]
    }
    const ofPulling = await count(pulling?.name ?? '')
    expect(ofPulling[0]).toBe(20)
    expect(ofPulling).toEqual(await count(pushed?.name ?? ''))
  } finally {
    await another.close()
  }
})

test('the foot shows calls, statements, entities and discarded rows', async () => {
  const text = textOf((await createVisitor(site.app).get('/')).body)
  expect(text).toMatch(
    /This page made \d+ calls to the store, in \d+ statements to 2 shards: 6 for index rows, 2 for entities(?:, \d for the store’s own tables)?\. It read \d+ entities, and discarded 0 rows\./,
  )
})

test.each(['/people/mira', '/people/mira/likes', '/people/greta', '/people/mira/sources'])(
  'the foot of %s counts read entities, and no discarded rows',
  async (path) => {
    const text = textOf((await createVisitor(site.app).get(path)).body)
    expect(text).toMatch(/ It read [1-9]\d* entit(?:y|ies), and discarded 0 rows\./)
  },
)

test('concurrent pages share statements, and the foot of each counts the shared ones', async () => {
  const paths = ['/', '/', '/people/mira']
  const { result, statements } = await executed(() =>
    Promise.all(paths.map((path) => createVisitor(site.app).get(path))),
  )
  const sums = result.map(({ body }) => statementsIn(body))
  // A shared statement counts in the foot of each page that shares it.
  expect(sums.reduce((sum, other) => sum + other)).toBeGreaterThan(statements.length)
  for (const sum of sums) expect(sum).toBeLessThanOrEqual(statements.length)
  for (const { body } of result) {
    const shared = Number(/It shared (\d+) of them with other requests/.exec(textOf(body))?.[1])
    expect(shared).toBeGreaterThan(0)
    expect(shared).toBeLessThanOrEqual(statementsIn(body))
  }
})

test('a page without concurrent requests shares no statements', async () => {
  for (const refused of [{ url: '/', headers: { host: 'attacker.example' } }, { url: '/%' }])
    expect((await site.app.inject(refused)).statusCode).toBeGreaterThanOrEqual(400)
  expect(textOf((await createVisitor(site.app).get('/')).body)).not.toContain('It shared')
})

test('the foot of a page without calls to the store says so', async () => {
  const { result, statements } = await executed(() => createVisitor(site.app).get('/nothing'))
  expect(textOf(result.body)).toContain('This page made no calls to the store.')
  expect(statements).toEqual([])
})

test('idea 7: a comment on an entry with 3,000 comments takes at most 8 statements, and shows on the last page', async () => {
  const { data, store } = site.site
  const mira = await data.people.byName.first({ name: 'mira' })
  const person_id = mira?.id ?? ''
  const entry_id = await postEntry(data, { person_id, title: 'Much discussed', link: undefined })
  const comments = Array.from({ length: 3_000 }, (_, i) => ({
    id: store.newId({ near: entry_id }),
    entry_id,
    person_id,
    text: `Comment ${i}`,
    commented: new Date(i),
  }))
  await data.comments.insertMany(comments)
  await data.entries.update(entry_id, { comments: comments.length })
  const visitor = createVisitor(site.app)
  await visitor.signIn('mira')
  await visitor.get(`/entries/${entry_id}`)
  const { result, statements } = await executed(() =>
    visitor.post(`/entries/${entry_id}/comments`, { text: 'The latest' }),
  )
  expect(result.statusCode).toBe(303)
  expect(statements.length).toBeLessThanOrEqual(8)
  const page = textOf((await visitor.get(result.headers.location as string)).body)
  expect(page).toContain('The latest')
  expect(page).toContain('3001 comments')
  expect(page).toContain('Earlier comments')
})
