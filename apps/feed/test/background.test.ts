import { execFile } from 'node:child_process'
import { constants, getPriority } from 'node:os'
import { promisify } from 'node:util'
import { readCleanerReport } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'
import type { Program } from '../src/day/run/programs.ts'
import { keepUnseeded } from '../src/day/sample/seed.ts'
import { openPlace, type Place } from '../src/day/run/start-site.ts'
import { dayPrograms } from './day-programs.ts'

/** Priority of a process in the background that inherits that of the tests. */
const BACKGROUND = Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL)

async function open(): Promise<Place> {
  const place = await openPlace(await dayPrograms(), undefined)
  onTestFinished(() => place.close())
  // The sample would take longer than the processes.
  await keepUnseeded(place.site.data)
  return place
}

const isCleaned = async ({ site }: Place): Promise<boolean> =>
  (await readCleanerReport(site.store)).shards.every(({ isFollowed }) => isFollowed)

test('a site without deliveries leaves the cleaner to the processes that deliver', async () => {
  const place = await open()
  const web = await place.start('web', { env: { FEED_DELIVER: 'elsewhere' } })
  const faults = async ({ ready }: Program): Promise<string> =>
    (await fetch(`${ready[1]}/store/faults`)).text()
  expect(await faults(web)).not.toContain('Hold the cleaner')
  expect(await isCleaned(place)).toBe(false)
  await place.start('crawler')
  expect(await isCleaned(place)).toBe(false)
  await place.start('deliver')
  await expect.poll(() => isCleaned(place), { timeout: 20_000 }).toBe(true)
  expect(await faults(await place.start('web', { env: { FEED_DELIVER: 'here' } }))).toContain(
    'Hold the cleaner',
  )
})

test('processes that deliver and fetch have a lower priority than the site', async () => {
  const place = await open()
  const [web, deliver, crawler] = await Promise.all(
    (['web', 'deliver', 'crawler'] as const).map(async (name) => (await place.start(name)).pid),
  )
  expect(getPriority(web)).toBe(getPriority())
  expect([getPriority(deliver), getPriority(crawler)]).toEqual([BACKGROUND, BACKGROUND])
})

test('a process keeps a priority that is lower still, which it may not raise', async () => {
  const lowest = constants.priority.PRIORITY_LOW
  const module = new URL('../src/let-pages-go-first.ts', import.meta.url).href
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    `import { getPriority, setPriority } from 'node:os'
    import { letPagesGoFirst } from '${module}'
    setPriority(${lowest})
    letPagesGoFirst()
    console.log(getPriority())`,
  ])
  expect(Number(stdout)).toBe(lowest)
})
