import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createVisitor, openTestSite, statementsIn, textOf, type TestSite } from './support.ts'

let site: TestSite
beforeAll(async () => {
  site = await openTestSite()
})
afterAll(() => site.close())

interface Statement {
  all(...parameters: unknown[]): unknown
  run(...parameters: unknown[]): unknown
}

/** Counts the statements that SQLite itself is asked to run while something is done. */
async function executed<T>(work: () => Promise<T>): Promise<{ result: T; statements: number }> {
  // The client that the SQLite driver uses, from where the driver has it.
  const require = createRequire(new URL('../../../packages/driver-sqlite/package.json', import.meta.url))
  const Database = require('better-sqlite3') as new (file: string) => {
    prepare(sql: string): Statement
    close(): void
  }
  const database = new Database(':memory:')
  const prototype = Object.getPrototypeOf(database.prepare('SELECT 1')) as Statement
  database.close()
  const { all, run } = prototype
  let statements = 0
  const counting = (method: Statement['all']) =>
    function (this: Statement, ...parameters: unknown[]): unknown {
      statements++
      return method.apply(this, parameters)
    }
  Object.assign(prototype, { all: counting(all), run: counting(run) })
  try {
    return { result: await work(), statements }
  } finally {
    Object.assign(prototype, { all, run })
  }
}

test.each(['/', '/people/mira', '/people/mira/likes', '/sources', '/people', 'an entry'])(
  'the foot of %s counts what the databases ran',
  async (path) => {
    const visitor = createVisitor(site.app)
    await visitor.signIn('mira')
    const home = (await visitor.get('/')).body
    const asked = path === 'an entry' ? (/href="(\/entries\/[^"#]+)"/.exec(home)?.[1] ?? '') : path
    const { result, statements } = await executed(() => visitor.get(asked))
    expect(result.statusCode).toBe(200)
    expect(statements).toBeGreaterThan(1)
    expect(statementsIn(result.body)).toBe(statements)
  },
)

test('the look-ups of a page of many questions are gathered into few statements', async () => {
  const text = textOf((await createVisitor(site.app).get('/')).body)
  const foot =
    /This page asked the store (\d+) questions\. While it was made, \d+ statements went to 2 shards: \d+ for index rows, (\d+) for entities(?:, \d for the store’s own tables \(catalog, tasks, pending writes\))?\. Those of the index cleaner count too, when it is at work meanwhile\. The page read \d+ entities, and discarded 0 rows\./.exec(
      text,
    )
  const [questions, lookUps] = [Number(foot?.[1]), Number(foot?.[2])]
  expect(questions).toBeGreaterThan(40)
  expect(lookUps).toBeLessThan(questions / 2)
  expect(text).not.toContain('at the same time')
})

test('requests that are refused at the door are not mistaken for others', async () => {
  for (const refused of [{ url: '/', headers: { host: 'attacker.example' } }, { url: '/%' }])
    expect((await site.app.inject(refused)).statusCode).toBeGreaterThanOrEqual(400)
  expect(textOf((await createVisitor(site.app).get('/')).body)).not.toContain('at the same time')
})

test('pages that are made at the same time share statements, and say so', async () => {
  const { result, statements } = await executed(() =>
    Promise.all(['/', '/', '/people/mira'].map((path) => createVisitor(site.app).get(path))),
  )
  const feet = result.map(({ body }) => textOf(body))
  for (const foot of feet) expect(foot).toContain('for it and the 2 requests that came at the same time')
  // Whoever ends last has seen them all.
  expect(Math.max(...result.map(({ body }) => statementsIn(body)))).toBe(statements)
})

test('a page that asks nothing says so', async () => {
  const { result, statements } = await executed(() => createVisitor(site.app).get('/nothing'))
  expect(textOf(result.body)).toContain('This page asked nothing of the store.')
  expect(statements).toBe(0)
})

test('a client that goes away in the middle of its request is not counted for ever', async () => {
  const left = await openTestSite()
  const url = new URL(await left.app.listen({ port: 0, host: '127.0.0.1' }))
  const gone = new Promise((resolve) => {
    left.app.server.once('connection', (socket) => socket.once('close', resolve))
  })
  const client = connect(Number(url.port), url.hostname)
  client.write(
    `POST /post HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 100\r\n\r\ntitle=`,
  )
  const another = async (): Promise<string> => textOf((await createVisitor(left.app).get('/people')).body)
  await expect.poll(another).toContain('for it and the 1 request that came at the same time')
  client.destroy()
  await gone
  expect(await another()).not.toContain('at the same time')
  await left.close()
})
