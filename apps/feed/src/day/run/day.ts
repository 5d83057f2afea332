import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseId } from 'looseleaf'
import { settingOnce } from '../../domain/site/settings.ts'
import type { Site } from '../../domain/site/site.ts'
import { closeAll, startPublishers } from '../publishers/start-publishers.ts'
import { readSample } from '../sample/read-sample.ts'
import { writeTimeline, type Act } from '../script/timeline.ts'
import { openBrowser, signInByStore, type Browser } from '../traffic/browser.ts'
import { catchUp } from '../check/catch-up.ts'
import { seedCrew } from '../crew/crew.ts'
import { percentile, tenths } from './percentile.ts'
import { play, publishFirst, type Made } from '../traffic/play.ts'
import type { Program } from './programs.ts'
import { untilAtRest } from './rest.ts'
import { openPlace, type ProgramPaths } from './start-site.ts'
import { FAULTS_PATH, stopShard } from '../traffic/stop-shard.ts'
import { createTraffic, type Outage, type TrafficCounts } from '../traffic/traffic.ts'
import { verify, type Verdict } from '../check/verify.ts'
import { startVisits } from '../traffic/visits.ts'
import { withinLimits } from '../traffic/within-limits.ts'

/** Names of the processes of a day. */
export const programNames = ['deliver', 'web', 'crawler'] as const
export type ProgramName = (typeof programNames)[number]

export interface DayOptions {
  readonly programs: ProgramPaths
  readonly readers: number
  /** Channels that each reader follows. */
  readonly follows: number
  readonly seconds: number
  readonly people: number
  readonly sources: number
  /** Acts of each kind in a second. */
  readonly rates: Readonly<Record<Act['kind'], number>>
  /** Visits of homes in a second. */
  readonly visits: number
  /** Seconds between two fetches of each source. */
  readonly crawlEvery: number
  /** Processes that are killed. */
  readonly kill: readonly ProgramName[]
  /** Number of the shard that is stopped amid the day. */
  readonly stopShard?: number | undefined
  /** Addresses of empty databases. Default: SQLite shards in a new folder. */
  readonly shards?: string | undefined
  readonly seed: number
  /** Called with the steps of the run. */
  readonly onStep: (step: string) => void
}

/** Results of a day. Times are in milliseconds. */
export interface DayReport extends Omit<Verdict, 'visible' | 'gone'>, TrafficCounts {
  /** From the arrival of an entry to its last row in an inbox. */
  readonly visibleP50: number
  readonly visibleP95: number
  /** From the time at which a visit was due to the end of its page. */
  readonly homeP50: number
  readonly homeP95: number
  readonly visits: number
  readonly kills: number
  /** Entries that had not come or were not delivered when nothing changed any more. */
  readonly behind: number
  /** Time from the last act until all was delivered. */
  readonly caughtUpMs: number
  readonly pulledChannels: number
  readonly seconds: number
  /** Load average of the machine in the last minute of the run. */
  readonly load: number
  /** The first failures, for people. */
  readonly failures: readonly string[]
  /** End of the error output of each process. */
  readonly errors: Readonly<Record<string, string>>
}

/** Home pages are visited by at most so many readers, in turn. */
const VISITORS = 500
/** Time without progress after which a day ends. It covers the leases of killed processes. */
const PATIENCE_MS = 60_000
/** Seconds of a run in which each process is killed once. */
const KILLED_EVERY = 100

/**
 * Plays a day on a site of its own: publishers publish, people post, comment and like, readers visit their homes, and processes are
 * killed. Then compares all entries with brute force. Rejects if a process ends by itself.
 */
export async function playDay(options: DayOptions): Promise<DayReport> {
  const publishers = await startPublishers(options.sources)
  const place = await openPlace(options.programs, options.shards).catch(async (error: unknown) => {
    await closeAll(publishers)
    throw error
  })
  const ending = new AbortController()
  try {
    const { site } = place
    options.onStep(`Seeding ${options.readers} readers with ${options.follows} follows each.`)
    const crew = await seedCrew(site, { ...options, publishers })
    const env = {
      FEED_CRAWL_ALLOW: publishers.map(({ host }) => host).join(','),
      FEED_CRAWL_EVERY: `${options.crawlEvery}`,
    }
    const [web, crawler, deliver] = await Promise.all([
      place.start('web', { env }),
      place.start('crawler', { env }),
      place.start('deliver', { env }),
    ])
    const programs: Record<ProgramName, Program> = { web, crawler, deliver }
    const endings = Object.values(programs).map(({ ended }) => ended)
    options.onStep('Waiting until the deliveries and the cleaner have passed over the seed.')
    await Promise.race([untilAtRest(site, ending.signal), ...endings])
    const url = web.ready[1] as string
    const secret = await settingOnce(site.data.settings, 'cookie secret', () => {
      throw new Error('The site has no secret.')
    })
    const signIn = (person: string): Promise<Browser> => signInByStore(site.data, secret, person)
    const browsers = await Promise.all(crew.people.map(signIn))
    const readers = await Promise.all(crew.readers.slice(0, VISITORS).map(signIn))
    let outage: Outage | undefined
    const traffic = createTraffic(web, ending.signal, () => outage)
    const made: Made = { entries: [], comments: [], likes: [] }
    publishFirst({ publishers, crew, made })
    const acts = withinLimits(writeTimeline(await readSample(), options), options.people)
    options.onStep(`Playing ${acts.length} acts in ${options.seconds} seconds at ${url}`)
    const visits = startVisits({ url: `${url}/`, browsers: readers, traffic, perSecond: options.visits })
    const playing = Promise.all([
      play({ acts, crew, url, browsers, publishers, site, traffic, made }),
      killAll(programs, options, ending.signal),
      stopAmid({ url, site, signal: ending.signal, setOutage: (now) => (outage = now) }, options),
      sleep(options.seconds * 1_000, undefined, { signal: ending.signal }),
    ])
    // It rejects at the end of a run that has failed.
    playing.catch(() => {})
    await Promise.race([playing, ...endings])
    await visits.stop()
    const ended = performance.now()
    options.onStep(`Waiting until ${made.entries.length} entries are delivered.`)
    const behind = await Promise.race([catchUp(site.data, made.entries, PATIENCE_MS), ...endings])
    const caughtUpMs = Math.round(performance.now() - ended)
    options.onStep('Comparing with brute force.')
    const { visible, gone, ...verdict } = await verify(site.data, crew, made)
    const pages = visits.done.map(({ ms }) => ms)
    return {
      ...verdict,
      ...traffic.counts,
      failed: traffic.counts.failed + gone,
      visibleP50: percentile(visible, 0.5),
      visibleP95: percentile(visible, 0.95),
      homeP50: tenths(percentile(pages, 0.5)),
      homeP95: tenths(percentile(pages, 0.95)),
      visits: pages.length,
      kills: Object.values(programs).reduce((sum, { kills }) => sum + kills, 0),
      behind,
      caughtUpMs,
      pulledChannels: crew.pulled.size,
      seconds: options.seconds,
      load: tenths(loadavg()[0] ?? 0),
      failures: traffic.failures,
      errors: Object.fromEntries(Object.values(programs).map(({ name, errors }) => [name, errors])),
    }
  } finally {
    ending.abort()
    await place.close()
    await closeAll(publishers)
  }
}

/** Kills the processes one after the other, at times spread over the run. */
async function killAll(
  programs: Readonly<Record<ProgramName, Program>>,
  { kill, seconds, onStep }: DayOptions,
  signal: AbortSignal,
): Promise<void> {
  const rounds = Math.max(1, Math.floor(seconds / KILLED_EVERY))
  const victims = Array.from({ length: rounds }, () => kill).flat()
  const start = performance.now()
  for (const [i, name] of victims.entries()) {
    const at = ((i + 1) / (victims.length + 1)) * seconds * 1_000
    await sleep(Math.max(0, start + at - performance.now()), undefined, { signal })
    onStep(`Killing the process “${name}”.`)
    const program = programs[name]
    // The site comes back at its address.
    const killed = performance.now()
    await program.restart(...(name === 'web' ? ['--port', new URL(program.ready[1] as string).port] : []))
    onStep(`It is ready again after ${Math.round(performance.now() - killed)} ms.`)
  }
}

interface Stopping {
  readonly url: string
  readonly site: Site
  readonly signal: AbortSignal
  readonly setOutage: (outage: Outage | undefined) => void
}

/** Stops a shard at two fifths of the run, and brings it back at three fifths, or after a minute. */
async function stopAmid(
  { url, site, signal, setOutage }: Stopping,
  { stopShard: number, seconds, onStep }: DayOptions,
): Promise<void> {
  if (number === undefined) return
  const { driver, router } = site.store.context
  const shardOf = (person: string): string | undefined =>
    driver.shards[router.shardOfId(parseId(person))]?.name
  await sleep(seconds * 400, undefined, { signal })
  let stopped = ''
  // The name is not known before the first refusals may come.
  setOutage({ hasAccount: (person) => stopped === '' || shardOf(person) === stopped })
  const shard = await stopShard(url, openBrowser(new Map(), FAULTS_PATH), number)
  stopped = shard.name
  onStep(`Stopped the shard ${shard.name} in the process of the site.`)
  await sleep(Math.min(seconds * 200, 60_000), undefined, { signal })
  await shard.bringBack()
  setOutage(undefined)
  onStep(`Brought the shard ${shard.name} back.`)
}
