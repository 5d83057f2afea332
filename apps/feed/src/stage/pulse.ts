import { setTimeout as sleep } from 'node:timers/promises'
import { isLooseleafError } from 'looseleaf'
import { isOutage } from '../domain/site/partial-reads.ts'
import type { Pulse, ReadPulse } from '../domain/site/pulse.ts'
import type { Site } from '../domain/site/site.ts'
import { Entry } from '../kinds/entry.ts'
import { InboxItem } from '../kinds/inbox-item.ts'
import { createDeliveryTally } from './deliveries/delivery-tally.ts'
import type { Latencies } from './latency/latencies.ts'
import { createRate, type Rate } from './rate.ts'

/** Milliseconds between two looks at the changes, and at entries whose items are missing. */
const LOOK_MS = 500
/** Milliseconds for which numbers are shown again. */
const FRESH_MS = 500
/** Seconds of calls from which the p99 is computed, and the least number of them. */
const P99_SECONDS = 60
const P99_CALLS = 100

export interface PulseOptions {
  readonly site: Pick<Site, 'store' | 'data'>
  /** Observers of the store. */
  readonly latencies: Latencies
  readonly statements: Rate
  /** Seconds until the end of the day that is being played. */
  readonly playing: () => number | undefined
  /** Called with errors other than those of shards that do not answer. */
  readonly onError: (error: unknown) => void
}

/** Measures a site for the strip above its pages, until it is closed. */
export interface PulseMeter {
  readonly read: ReadPulse
  close(): Promise<void>
}

/**
 * Follows the changes of the store, so that it counts the entries and inbox items of all processes, and reads the followers of each new
 * entry. Statements and calls are those of this process.
 */
export function openPulse({ site, latencies, statements, playing, onError }: PulseOptions): PulseMeter {
  const { store, data } = site
  const end = new AbortController()
  const { signal } = end
  const tally = createDeliveryTally(data)
  const posts = createRate()
  let last: Pulse | undefined

  async function follow(): Promise<void> {
    const kinds = [Entry.name, InboxItem.name]
    for await (const { id, entity } of store.changes({ kinds, signal, onDamaged: 'skip', pollMs: LOOK_MS }))
      if (tally.add(id, entity)) posts.count()
  }

  async function repeat(work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      await work().catch(report)
      await sleep(LOOK_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  function report(error: unknown): void {
    if (!isOutage(error) && !isLooseleafError(error, 'CLOSED')) onError(error)
  }

  const ended = Promise.all([repeat(follow), repeat(tally.settle)])

  function read(): Pulse {
    const at = new Date()
    if (last !== undefined && at.getTime() - last.at.getTime() < FRESH_MS) return last
    const until = Math.floor(at.getTime() / 1000) + 1
    const latency = latencies.between(until - P99_SECONDS, until)
    last = {
      at,
      posts: posts.perSecond(),
      statements: statements.perSecond(),
      p99Ms: latency === undefined || latency.calls < P99_CALLS ? undefined : latency.p99Ms,
      ...tally.counts(),
      playing: playing(),
    }
    return last
  }

  return {
    read,
    async close() {
      end.abort()
      await ended
    },
  }
}
