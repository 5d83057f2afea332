import { setTimeout as sleep } from 'node:timers/promises'
import { watch } from 'looseleaf'
import { LISTS_KEPT_MS } from '../domain/home/pulled-lists.ts'
import type { Site } from '../domain/site/site.ts'

/** Largest number of channels that a topic watches. Entries of others arrive together with the next entry of another channel. */
const MOST_CHANNELS = 200

export interface PulledArrivalsOptions {
  readonly site: Pick<Site, 'store' | 'data'>
  /** Ends the watching. */
  readonly signal: AbortSignal
  /** Called when the lists of the channels have entries that came. */
  readonly onArrival: () => Promise<void>
  /** Called with an error that ends the watching of a channel. */
  readonly onError: (error: unknown) => void
}

/** Watches the channels whose entries a person reads at each visit. All topics of a process share the queries of a channel. */
export interface PulledArrivals {
  /** Watches these channels in place of those of the last call. */
  follow(channels: readonly string[]): void
  /** Resolves after the signal, when nothing is under way. */
  ended(): Promise<void>
}

export function createPulledArrivals(options: PulledArrivalsOptions): PulledArrivals {
  const { site, signal, onArrival, onError } = options
  const { store, data } = site
  const watched = new Map<string, AbortController>()
  const running = new Set<Promise<void>>()
  let hasArrived = false
  let telling = false

  function run(work: Promise<void>): void {
    const guarded = work.catch(onError).finally(() => running.delete(guarded))
    running.add(guarded)
  }

  /** Calls back when the shared lists, which may have been read just before the last arrival, have it. */
  async function tell(): Promise<void> {
    telling = true
    try {
      while (hasArrived && !signal.aborted) {
        hasArrived = false
        await sleep(LISTS_KEPT_MS, undefined, { signal }).catch(() => {})
        if (!signal.aborted) await onArrival()
      }
    } finally {
      telling = false
    }
  }

  async function watchChannel(channel_id: string, end: AbortSignal): Promise<void> {
    const query = { order: 'desc', limit: 1, signal: end } as const
    // The first page, too: an entry may have come since the channels were read.
    for await (const _ of watch(store, data.entries.byChannel.definition, { channel_id }, query)) {
      hasArrived = true
      if (!telling) run(tell())
    }
  }

  return {
    follow(all) {
      if (signal.aborted) return
      const channels = all.slice(0, MOST_CHANNELS)
      for (const [channel, end] of watched)
        if (!channels.includes(channel)) {
          watched.delete(channel)
          end.abort()
        }
      for (const channel of channels) {
        if (watched.has(channel)) continue
        const end = new AbortController()
        watched.set(channel, end)
        run(watchChannel(channel, AbortSignal.any([signal, end.signal])))
      }
    },
    async ended() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
