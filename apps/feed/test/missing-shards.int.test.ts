import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { shardsFrom } from 'looseleaf'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createVisitor, openTestSite, textOf, type TestSite } from './support.ts'

let servers: RunningServers
let site: TestSite
beforeAll(async () => {
  servers = await startServers(2, { database: 'feed', inMemory: true })
  // Pages say how long ago things were, which their tags include.
  const now = new Date()
  site = await openTestSite({ shards: shardsFrom(servers.urls.join(',')), now: () => now })
})
afterAll(async () => {
  await site.close()
  await servers.stop()
})

test('while a server is frozen, pages come without its data soon, and whole once it goes on', async () => {
  const visitor = createVisitor(site.app)
  const person = createVisitor(site.app)
  await person.signIn('mira')
  const whole = await visitor.get('/everything')
  const paths = ['/', '/everything', '/people', '/sources']
  process.kill(servers.pids[1]!, 'SIGSTOP')
  try {
    for (const browser of [visitor, person])
      for (const path of paths) {
        const startedAt = performance.now()
        const reply = await browser.get(path)
        const tookMs = performance.now() - startedAt
        expect([path, reply.statusCode]).toEqual([path, 200])
        expect(textOf(reply.body)).toContain('A part of the store')
        // Without partial pages, each would wait for the breaker of the driver: six seconds.
        expect(tookMs).toBeLessThan(3_000)
      }
  } finally {
    process.kill(servers.pids[1]!, 'SIGCONT')
  }
  // The process learns by a request every half a second that the server answers again.
  await expect
    .poll(async () => (await visitor.get('/everything')).headers.etag, { timeout: 20_000 })
    .toBe(whole.headers.etag)
  expect(textOf((await person.get('/')).body)).toContain('Signed in as')
})
