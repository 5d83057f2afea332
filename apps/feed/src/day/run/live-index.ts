import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { settingOnce } from '../../domain/site/settings.ts'
import { offeredIndexes } from '../../kinds/site-data.ts'
import { readNumber, readOptions } from './arguments.ts'
import { openBrowser, signInByStore } from '../traffic/browser.ts'
import { seedCrew } from '../crew/crew.ts'
import { writeJson } from './day-command.ts'
import { seedEntries } from '../crew/library.ts'
import { percentile, tenths } from './percentile.ts'
import { untilAtRest } from './rest.ts'
import { openPlace, type ProgramPaths } from './start-site.ts'
import { createTraffic, type TrafficCounts } from '../traffic/traffic.ts'
import { startVisits, type Visit } from '../traffic/visits.ts'

export interface LiveIndexOptions {
  readonly programs: ProgramPaths
  readonly entries: number
  /** Visits of homes in a second. */
  readonly visits: number
  /** Seconds of visits before the index is added. */
  readonly before: number
  readonly shards?: string | undefined
  readonly onStep: (step: string) => void
}

/** Latency of homes before an index was added and while it was filled, in milliseconds from the time at which each visit was due. */
export interface LiveIndexReport extends Pick<TrafficCounts, 'failed' | 'status5xx'> {
  readonly entries: number
  /** Visits before and during the filling. */
  readonly visitsBefore: number
  readonly visitsDuring: number
  readonly p95Before: number
  readonly p95During: number
  /** `p95During` as a multiple of `p95Before`. */
  readonly p95Ratio: number
  /** Time from the button until the index was ready. */
  readonly filledMs: number
  readonly load: number
  readonly failures: readonly string[]
}

const READERS = 50
const PEOPLE = 40
/** Visits before the measurement, which compile the code of the page. */
const WARM_UP_MS = 5_000
/** Pause between two looks at the index. */
const LOOK_MS = 200
/** Path of the page whose button adds the index. */
const LIVE_PATH = '/store/live'

/** Measures homes while the site adds and fills `entry_by_link`, by the button of its window, in the process that serves the pages. */
export async function addIndexLive(options: LiveIndexOptions): Promise<LiveIndexReport> {
  const { onStep } = options
  const [{ name }] = offeredIndexes as [(typeof offeredIndexes)[number]]
  const ending = new AbortController()
  const place = await openPlace(options.programs, options.shards)
  try {
    const { site } = place
    const crew = await seedCrew(site, {
      seed: 1,
      people: PEOPLE,
      readers: READERS,
      follows: 20,
      publishers: [],
    })
    await seedEntries(site, crew, options.entries, (entries) => {
      if (entries % 20_000 === 0) onStep(`Wrote ${entries} entries.`)
    })
    // The one process of a small site delivers, cleans and fills indexes beside its pages.
    const web = await place.start('web', { env: { FEED_DELIVER: 'here' } })
    onStep('Waiting until the deliveries and the cleaner have passed over the sample.')
    await Promise.race([untilAtRest(site, ending.signal), web.ended])
    const url = web.ready[1] as string
    const secret = await settingOnce(site.data.settings, 'cookie secret', () => {
      throw new Error('The site has no secret.')
    })
    const browsers = await Promise.all(crew.readers.map((reader) => signInByStore(site.data, secret, reader)))
    const traffic = createTraffic(web, ending.signal)
    const visits = startVisits({ url: `${url}/`, browsers, traffic, perSecond: options.visits })
    await sleep(WARM_UP_MS)
    const from = performance.now()
    onStep(`Visiting homes at ${url} for ${options.before} seconds.`)
    await sleep(options.before * 1_000)
    onStep(`Adding ${name}.`)
    const added = performance.now()
    const { status } = await openBrowser(new Map(), LIVE_PATH).post(`${url}${LIVE_PATH}`, { add: name })
    if (status !== 303) throw new Error(`The site did not add the index: status ${status}.`)
    const isReady = async (): Promise<boolean> =>
      (await site.store.indexes()).some((index) => index.name === name && index.state === 'ready')
    while (!(await isReady())) await Promise.race([sleep(LOOK_MS), web.ended])
    const ready = performance.now()
    await visits.stop()
    const before = visits.done.filter(({ due }) => due >= from && due < added)
    const during = visits.done.filter(({ due }) => due >= added && due < ready)
    const p95 = (some: readonly Visit[]): number =>
      percentile(
        some.map(({ ms }) => ms),
        0.95,
      )
    return {
      entries: options.entries,
      visitsBefore: before.length,
      visitsDuring: during.length,
      p95Before: tenths(p95(before)),
      p95During: tenths(p95(during)),
      p95Ratio: Math.round((100 * p95(during)) / p95(before)) / 100,
      filledMs: Math.round(ready - added),
      failed: traffic.counts.failed,
      status5xx: traffic.counts.status5xx,
      load: tenths(loadavg()[0] ?? 0),
      failures: traffic.failures,
    }
  } finally {
    ending.abort()
    await place.close()
  }
}

/** Runs the measurement by the arguments of the command line. Returns the exit status: 0, or 1 if a request failed. */
export async function runLiveIndex(
  args: readonly string[],
  programs: ProgramPaths,
  print: (line: string) => void,
): Promise<number> {
  const values = readOptions(args, ['entries', 'visits', 'before', 'shards', 'json'])
  const report = await addIndexLive({
    programs,
    entries: readNumber('entries', values.entries, { by: 200_000, min: 1, max: 10_000_000 }),
    visits: readNumber('visits', values.visits, { by: 10, min: 0.1, max: 1_000, isWhole: false }),
    before: readNumber('before', values.before, { by: 60, min: 1, max: 3_600 }),
    shards: values.shards,
    onStep: print,
  })
  await writeJson(values.json, report)
  const { entries, filledMs, visitsBefore, visitsDuring, p95Before, p95During, p95Ratio } = report
  print(`The index of ${entries} entries was ready after ${filledMs} ms; load ${report.load}.`)
  print(
    `Home: P95 ${p95Before} ms in ${visitsBefore} visits before, ${p95During} ms in ${visitsDuring} during: × ${p95Ratio}.`,
  )
  print(`${report.failed} requests failed.`)
  for (const failure of report.failures) print(`Failure: ${failure}`)
  return report.failed === 0 ? 0 : 1
}
