import { setTimeout as pause } from 'node:timers/promises'
import { startCleaner } from 'looseleaf'
import { expect, onTestFinished, vi } from 'vitest'
import { createVisitor, openTestSite, type TestSiteOptions, type Visitor } from './support.ts'

/** Adds and drops the offered index in the window, while a person posts and reads all the time. Returns the errors of the site. */
export async function indexComesAndGoes(options?: TestSiteOptions): Promise<readonly unknown[]> {
  const { app, site, errors, close } = await openTestSite(options)
  onTestFinished(close)
  const cleaner = startCleaner(site.store)
  onTestFinished(() => cleaner.stop())

  const post = async (visitor: Visitor, title: string): Promise<string> => {
    const reply = await visitor.post('/post', { title, link: 'https://example.org/together' })
    expect(reply.statusCode).toBe(303)
    return reply.headers.location as string
  }
  const mira = createVisitor(app)
  await mira.signIn('mira')
  const path = await post(mira, 'Before it')
  let isStopped = false
  let posts = 0
  const posting = (async () => {
    while (!isStopped) {
      const tomas = createVisitor(app)
      await tomas.signIn('tomas')
      const other = await post(tomas, `Meanwhile ${posts++}`)
      for (const address of [path, other]) expect((await tomas.get(address)).statusCode).toBe(200)
      // Leaves time to the cleaner, which shares the process.
      await pause(200)
    }
  })()
  // Errors are thrown by `await posting` at the end.
  posting.catch(() => {})

  const isShown = async (): Promise<boolean> => (await mira.get(path)).body.includes('Also shared by')
  const window = createVisitor(app)
  const looks = async (): Promise<string> => (await window.get('/store/live')).body
  const acts = async (fields: Record<string, string>): Promise<number> =>
    (await window.post('/store/live', fields)).statusCode

  expect(await isShown()).toBe(false)
  expect(await looks()).toContain('entry_by_link: absent')
  expect(await acts({ add: 'entry_by_link' })).toBe(303)
  await vi.waitFor(async () => expect(await isShown()).toBe(true), { timeout: 100_000, interval: 200 })
  const ready = await looks()
  expect(ready).toContain('entry_by_link: ready')
  expect(ready).toContain('Before, during and after entry_by_link')
  expect(ready).toMatch(/<path class="index" d="M/)

  expect(await acts({ drop: 'entry_by_link' })).toBe(200)
  expect(await isShown()).toBe(true)
  expect(await acts({ drop: 'entry_by_link', sure: 'yes' })).toBe(303)
  expect(await isShown()).toBe(false)
  expect(await looks()).toContain('entry_by_link: absent')

  isStopped = true
  await posting
  expect(posts).toBeGreaterThan(0)
  return errors
}
