import { createConsole } from '@looseleaf/console'
import { DataStore, LooseleafError, memoryShards, startCleaner } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'
import { visitConsole } from '../../../test/support.ts'
import { faultsPage } from './faults-page.ts'
import { holdLoop } from './hold-loop.ts'
import { createRowCounts } from './row-counts.ts'

test('a cleaner is held after a question, once at a time, its lag grows, and it starts again when the console is closed', async () => {
  await using store = await DataStore.open({ shards: memoryShards(2), migrate: true, onWarning: () => {} })
  let cleaner = startCleaner(store)
  onTestFinished(() => cleaner.stop())
  await expect.poll(() => cleaner.status().shards.every(({ lastRoundAt }) => lastRoundAt)).toBe(true)
  const held = { stop: () => cleaner.stop(), start: () => (cleaner = startCleaner(store)) }
  const faults = faultsPage({ store, indexes: [], counts: createRowCounts(), loops: { cleaner: held } })
  const pages = createConsole({ store, base: '/store', acts: { onAct: () => {} }, pages: [faults] })
  const served = visitConsole(pages)
  const hold = (more: object) => served.act('/store/faults', { hold: 'the cleaner', ...more })
  expect((await hold({})).body).toContain('will stop for 60 s')
  expect(cleaner.status().isRunning).toBe(true)
  expect((await hold({ sure: 'yes' })).statusCode).toBe(303)
  expect(cleaner.status().isRunning).toBe(false)
  expect((await hold({ sure: 'yes' })).statusCode).toBe(409)
  const page = (): Promise<string> => served.text('/store/faults')
  expect(await page()).toMatch(/Held<\/strong> since [-\d]+ [:\d]+ UTC: the loop starts again at/)
  await expect
    .poll(async () => (await page()).match(/<dd>[1-9]\d* s, and no cleaner follows it now<\/dd>/g), {
      timeout: 5000,
    })
    .toHaveLength(2)
  // A failure of the shard with the catalog affects only its own line.
  const [first] = store.context.driver.shards
  const gone = (): Promise<never> =>
    Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'It is gone.', { shard: first!.name }))
  first!.catalog.load = gone
  first!.tasks.load = gone
  const degraded = await page()
  expect(degraded).toContain(`<dt>${first!.name}</dt><dd>It is gone.</dd>`)
  expect(degraded.match(/<dd>[1-9]\d* s, and no cleaner follows it now<\/dd>/g)).toHaveLength(1)
  expect((await served.text('/store/shards')).match(/<td>\d+ s<\/td><td>\d+ s ago<\/td>/g)).toHaveLength(1)
  pages.close()
  await expect.poll(() => cleaner.status().isRunning).toBe(true)
})

test('a held cleaner starts again by itself, also after a failed stop', async () => {
  const calls: string[] = []
  const actContext = {
    signal: new AbortController().signal,
    showProgress: (text: string) => void calls.push(text.slice(0, 7)),
    setOutcome: (text: string) => void calls.push(text),
  }
  const start = (): void => void calls.push('start')
  await holdLoop({ stop: async () => calls.push('stop'), start }, 10, actContext)
  expect(calls).toEqual(['stop', 'the loo', 'start', 'Ended; it runs again.'])
  const stop = (): Promise<never> => Promise.reject(new Error('no'))
  await expect(holdLoop({ stop, start }, 10, actContext)).rejects.toThrow('no')
  expect(calls.at(-1)).toBe('start')
})
