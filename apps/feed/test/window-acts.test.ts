import { memoryShards } from 'looseleaf'
import { expect, test } from 'vitest'
import { indexComesAndGoes } from './index-comes-and-goes.ts'
import { createVisitor, openTestSite } from './support.ts'

test('an index comes and goes while others post, and what it serves with it', async () => {
  expect(await indexComesAndGoes(memoryShards(2))).toEqual([])
})

test('a site that others can reach has no window, and no acts', async () => {
  const site = await openTestSite({ sample: false, origin: 'https://feed.example.org' })
  try {
    const visitor = createVisitor(site.app)
    expect((await visitor.get('/store/live')).statusCode).toBe(404)
    await visitor.get('/sign-in')
    expect((await visitor.post('/store/live', { add: 'entry_by_link' })).statusCode).toBe(404)
    expect(site.site.data.entries.byLink.isReady()).toBe(false)
  } finally {
    await site.close()
  }
})

test('the site’s own token is no token of the window', async () => {
  const site = await openTestSite({ sample: false })
  try {
    const visitor = createVisitor(site.app)
    await visitor.get('/sign-in')
    expect((await visitor.post('/store/live', { add: 'entry_by_link' })).statusCode).toBe(403)
    expect((await site.site.store.indexes()).map(({ name }) => name)).not.toContain('entry_by_link')
  } finally {
    await site.close()
  }
})
