import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { checkIndex, shardsFrom } from 'looseleaf'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { offeredIndexes, siteIndexes } from '../src/kinds/site-data.ts'
import { serve } from '../src/serve.ts'
import { readSettings } from '../src/settings.ts'
import { describeStartError } from '../src/start-error.ts'
import { indexComesAndGoes } from './index-comes-and-goes.ts'
import { addOffered, createVisitor, openTestSite, statementsIn, textOf, type TestSite } from './support.ts'

let site: TestSite
let servers: RunningServers
beforeAll(async () => {
  // Private servers, because a server counts the statements of all clients.
  servers = await startServers(2, { database: 'feed', inMemory: true })
  site = await openTestSite({ shards: shardsFrom(servers.urls.join(',')) })
})
afterAll(async () => {
  await site?.close()
  await servers?.stop()
})

test('the foot of a page counts the statements of the servers, and the home page keeps its budget', async () => {
  const connections = await Promise.all(servers.urls.map((url) => createConnection(url)))
  const selects = async (): Promise<number> => {
    const counts = await Promise.all(
      connections.map(async (connection) => {
        const [rows] = await connection.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Com_select'")
        return Number(rows[0]?.['Value'])
      }),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }
  try {
    const visitor = createVisitor(site.app)
    await visitor.signIn('mira')
    for (const path of ['/', '/people/mira', '/sources']) {
      // Opening a connection or reading the catalog adds statements that belong to no page.
      await vi.waitFor(
        async () => {
          const before = await selects()
          const { body } = await visitor.get(path)
          expect({ path, ran: (await selects()) - before }).toEqual({ path, ran: statementsIn(body) })
        },
        { timeout: 20_000 },
      )
    }
    // A few more than the 12 on SQLite: calls whose answers come in another order share fewer statements.
    for (let visit = 0; visit < 5; visit++)
      expect(statementsIn((await visitor.get('/')).body)).toBeLessThanOrEqual(16)
  } finally {
    for (const connection of connections) connection.destroy()
  }
})

describe('with the offered indexes', () => {
  beforeAll(() => addOffered(site.site))

  test('a person signs in, posts, comments, likes, shares, imports, pages and deletes', async () => {
    const mira = createVisitor(site.app)
    await mira.signIn('mira')
    const posted = await mira.post('/post', {
      title: 'On a real database 🥐',
      link: 'https://example.com/maria',
    })
    const path = posted.headers.location as string
    await mira.post(`${path}/comments`, { text: 'A comment with 🌙 and “quotes”' })
    await mira.post(`${path}/like`, { back: path })
    const tomas = createVisitor(site.app)
    await tomas.signIn('tomas')
    await tomas.post('/post', { title: 'The same link', link: 'https://example.com/maria' })

    const page = textOf((await mira.get(path)).body)
    expect(page).toContain('On a real database 🥐')
    expect(page).toContain('A comment with 🌙 and “quotes”')
    expect(page).toContain('You like this')
    expect(page).toMatch(/Also shared by ?The same link/)

    const xml = `<rss version="2.0"><channel><title>Up</title><item><title>Imported</title><pubDate>${new Date().toUTCString()}</pubDate></item></channel></rss>`
    const upload = await mira.upload('/import', [{ name: 'a.xml', text: xml }])
    expect(textOf(upload.body)).toContain('Up (RSS): 1 new entry.')

    const everything = await mira.get('/everything')
    expect(textOf(everything.body)).toContain('Imported')
    const older = /rel="next" href="([^"]+)"/.exec(everything.body)?.[1]?.replaceAll('&amp;', '&') as string
    expect((await mira.get(older)).body.match(/<article/g)).toHaveLength(20)

    expect((await mira.post(`${path}/delete`)).statusCode).toBe(303)
    expect((await mira.get(path)).statusCode).toBe(410)
  })

  test.each([...siteIndexes, ...offeredIndexes].map((index) => index.name))(
    'the index %s has no missing and no dangling rows',
    async (name) => {
      expect(await checkIndex(site.site.store, name)).toMatchObject({ missing: 0, dangling: 0 })
    },
  )
})

test('the error for a refused password is one line without the password', async () => {
  const wrong = servers.urls.map((url) => url.replace(/:[^:@/]*@/, ':not-the-password@')).join(',')
  const error: unknown = await serve(readSettings(['--port', '0'], { LOOSELEAF_SHARDS: wrong })).then(
    async (running) => running.stop(),
    (reason: unknown) => reason,
  )
  const line = describeStartError(error)
  expect(line).toMatch(/user, the password/)
  expect(line).not.toContain('not-the-password')
  expect(line).not.toContain('\n')
})

test('an index is added and dropped while people post, and pages show its part only while it is ready', async ({
  skip,
}) => {
  skip(!isLong, 'it takes half a minute; LOOSELEAF_LONG=1 runs it, and SQLite is tried in every run')
  const { urls: own } = await freshShards(2)
  expect(await indexComesAndGoes({ shards: shardsFrom(own.join(',')) })).toEqual([])
})
