import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore, defineIndex } from '@looseleaf/store'
import { expect, onTestFinished, test } from 'vitest'
import { serveConsole } from '../../test/serve-console.ts'
import { stoppable } from '../../test/stoppable.ts'
import { createConsole } from '../console.ts'
import { markup } from '../kit/html.ts'
import type { ActPage } from './act-page.ts'
import type { Act } from './acts.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

test('a page of the application has the frame and the acts of the console, and every page with acts can end a running act', async () => {
  const store = await DataStore.open({ shards: memoryShards(2), migrate: true, onWarning: () => {} })
  onTestFinished(() => store.close())
  const done: Act[] = []
  const pages = createConsole({
    store,
    base: '/store',
    offer: [byName],
    pages: [stoppable('the pump')],
    acts: { onAct: (act) => done.push(act) },
  })
  const { text, act } = await serveConsole(pages)
  const first = await text('/store/stops')
  expect(first).toContain('<h1>Stops of &#60;all&#62;</h1>')
  expect(first).toContain('<a href="/store/stops" aria-current="page">Stops</a>')
  expect((await act('/store/stops', { stop: 'the moon' })).status).toBe(404)
  expect(await (await act('/store/stops', { stop: 'the pump' })).text()).toContain('Yes, stop the pump')
  expect((await act('/store/stops', { stop: 'the pump', sure: 'yes' })).status).toBe(303)

  const stopped = await text('/store/stops')
  expect(stopped).toContain('<strong>It is stopped</strong> since')
  expect(stopped).not.toContain('>Stop it<')
  expect(stopped.match(/it waits/g)).toHaveLength(1)
  const other = await text('/store/offered')
  expect(other).toContain('<strong>“stop the pump” is running</strong> since')
  expect(other).toContain('name="end" value="the pump">Bring it back</button>')
  const early = await act('/store/offered', { end: 'the pump' })
  expect(early.headers.get('location')).toBe('/store/offered#stop-the-pump')
  expect((await act('/store/offered', { end: 'the pump' })).status).toBe(409)

  // The list of a page has the acts of that page.
  expect(await text('/store/stops')).toContain('<div data-news="stop the pump: Ended.">')
  expect(await text('/store/offered')).not.toContain('stop the pump')
  expect(done).toMatchObject([{ name: 'stop', about: 'the pump', failure: undefined, outcome: 'Ended.' }])
})

test('a page without acts neither lists acts nor says that the console is read-only', async () => {
  const store = await DataStore.open({ shards: memoryShards(1), migrate: true, onWarning: () => {} })
  onTestFinished(() => store.close())
  const quiet: ActPage = {
    name: 'quiet',
    label: 'Quiet',
    title: 'Quiet',
    lead: markup`Numbers.`,
    acts: [],
    part: async () => ({ body: markup`<p>4,711</p>` }),
    plan: () => undefined,
  }
  for (const acts of [undefined, { onAct: () => {} }]) {
    const pages = createConsole({ store, base: '/store', pages: [quiet, stoppable('the pump')], acts })
    const { text } = await serveConsole(pages)
    const page = await text('/store/quiet')
    expect(page).toContain('<p>4,711</p>')
    expect(page).not.toMatch(/<h2>Acts|read-only/)
    expect(await text('/store/stops')).toMatch(/<h2>Acts|read-only/)
  }
})
