import { setTimeout as sleep } from 'node:timers/promises'
import { watch } from 'looseleaf'
import { isOutage } from '../domain/site/partial-reads.ts'
import type { Site } from '../domain/site/site.ts'
import { createPulledArrivals } from './pulled-arrivals.ts'
import { LIVE_ENTRIES, readPersonState, readPublicState } from './live-state.ts'

/** Milliseconds between two tries while a shard does not answer. */
const RETRY_MS = 1000

/** Streams of one receiver, which get the same events: the tabs of a person, or all visitors. */
export interface Topic {
  /** Sends the current state soon, to the streams to which it is new. */
  refresh(): void
  /** Fires when the topic ends. */
  readonly signal: AbortSignal
  /** Ends the topic, and waits for what it is doing. */
  stop(): Promise<void>
}

export interface TopicOptions {
  readonly site: Pick<Site, 'store' | 'data' | 'pulledLists'>
  /** Undefined for the public page. */
  readonly personId: string | undefined
  /** Sends a state. An outage is followed by another try with the state of then. */
  readonly send: (state: string) => Promise<void>
  /** Called once when the topic has ended, with the error that ended it. */
  readonly onEnd: (error: unknown) => void
}

/** Watches the home page of a person, or the newest entries of the site, until it is stopped. Any error but an outage ends it. */
export function startTopic({ site, personId, send, onEnd }: TopicOptions): Topic {
  const { store, data } = site
  const end = new AbortController()
  const { signal } = end
  const query = { order: 'desc', limit: LIVE_ENTRIES, signal } as const
  const pages =
    personId === undefined
      ? watch(store, data.entries.byTime.definition, {}, { ...query, scatter: true })
      : watch(store, data.inbox.byPerson.definition, { person_id: personId }, query)

  let isStale = false
  let reading: Promise<void> | undefined
  /** Reads states one after another, so that an older one is never sent after a newer one. */
  async function readAndSend(): Promise<void> {
    try {
      while (isStale && !signal.aborted) {
        isStale = false
        await readOnce()
      }
    } finally {
      reading = undefined
    }
  }
  async function readOnce(): Promise<void> {
    try {
      if (personId === undefined) return await send(JSON.stringify(await readPublicState(data)))
      const { state, pulled } = await readPersonState(site, personId)
      arrivals?.follow(pulled)
      await send(JSON.stringify(state))
    } catch (error) {
      if (!isOutage(error)) throw error
      isStale = true
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
    }
  }
  function refresh(): Promise<void> {
    isStale = true
    reading ??= readAndSend()
    return reading
  }

  let failure: unknown
  const fail = (error: unknown): void => {
    failure ??= error
    end.abort()
  }
  const arrivals =
    personId === undefined
      ? undefined
      : createPulledArrivals({ site, signal, onArrival: refresh, onError: fail })
  async function follow(): Promise<void> {
    for await (const _ of pages) await refresh()
  }
  const ended = follow()
    .catch(fail)
    .then(() => reading?.catch(fail))
    .then(() => arrivals?.ended())
    .then(() => onEnd(failure))
  return {
    refresh: () => void refresh().catch(fail),
    signal,
    async stop() {
      end.abort()
      await ended
    },
  }
}
