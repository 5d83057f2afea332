import { setTimeout as sleep } from 'node:timers/promises'
import type { Site } from '../../domain/site/site.ts'
import { signInByStore } from '../traffic/browser.ts'
import { catchUp } from '../check/catch-up.ts'
import { play, publishFirst, type Made } from '../traffic/play.ts'
import { createTraffic, type TrafficCounts } from '../traffic/traffic.ts'
import { withinLimits } from '../traffic/within-limits.ts'
import { readSample } from '../sample/read-sample.ts'
import { writeTimeline } from '../script/timeline.ts'
import { followForDay, gatherPlayers, signOutOfDay } from './players.ts'
import { publishHere, type PublishedSources } from './published-sources.ts'

/** Acts of each kind in a second. */
const RATES = { item: 1, post: 0.5, comment: 1, like: 2 } as const
/** Milliseconds without progress after which the end waits no longer for entries. */
const PATIENCE_MS = 60_000

export interface PlayHereOptions {
  readonly site: Site
  /** Address at which the site answers. */
  readonly url: string
  /** Signs cookies. */
  readonly secret: string
  readonly seconds: number
  readonly people: number
  readonly sources: number
  /** Returns true while a shard is stopped on purpose: refused forms are then no failures. */
  readonly isBroken: () => boolean
  /** Ends the day early. */
  readonly signal: AbortSignal
  /** Called when the day begins. */
  readonly onBegin: () => void
  /** Called when all is delivered, and before the follows of the day end. */
  readonly onEnd: (played: PlayedDay) => Promise<void>
}

export interface PlayedDay {
  readonly began: Date
  readonly made: Made
  /** Entries that had not come or were not delivered when nothing changed any more. */
  readonly behind: number
  readonly counts: Readonly<TrafficCounts>
}

/**
 * Plays a day on a running site: publishers on this machine publish, people post, comment and like by forms over HTTP. The sample people
 * play, with some players. Follows and sessions of the day end with it; entries, comments and likes stay.
 */
export async function playHere(options: PlayHereOptions): Promise<void> {
  const { site } = options
  const people = await gatherPlayers(site, options.people)
  const published = await publishHere(site, options.sources)
  try {
    const seed = Date.now() % 2 ** 32
    const follows = await followForDay(site.data, people, [...published.ids, ...people], seed)
    try {
      await options.onEnd(await playActs(options, { people, published, seed }))
    } finally {
      await site.data.follows.deleteMany(follows)
      await signOutOfDay(site.data, people)
    }
  } finally {
    await published.close()
  }
}

interface Cast {
  readonly people: readonly string[]
  readonly published: PublishedSources
  readonly seed: number
}

async function playActs(options: PlayHereOptions, { people, published, seed }: Cast): Promise<PlayedDay> {
  const { site, url, secret, isBroken, signal } = options
  const { publishers, ids: sources } = published
  const crew = { people, sources }
  const browsers = await Promise.all(people.map((person) => signInByStore(site.data, secret, person)))
  const traffic = createTraffic({ wasUpSince: () => true }, signal, () =>
    isBroken() ? { hasAccount: () => true } : undefined,
  )
  const made: Made = { entries: [], comments: [], likes: [] }
  const began = new Date()
  const edition = `${began.getTime().toString(36)}-`
  options.onBegin()
  publishFirst({ publishers, crew, made, edition })
  const timeline = writeTimeline(await readSample(), {
    ...options,
    seed,
    rates: RATES,
    people: people.length,
  })
  const acts = withinLimits(timeline, people.length)
  const playing = play({ acts, crew, url, browsers, publishers, site, traffic, made, edition })
  const whole = Promise.all([playing, sleep(options.seconds * 1_000, undefined, { signal })])
  // An early end is not an error.
  await whole.catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  const behind = await catchUp(site.data, made.entries, PATIENCE_MS)
  return { began, made, behind, counts: traffic.counts }
}
