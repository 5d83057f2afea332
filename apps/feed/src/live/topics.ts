import { watch } from 'looseleaf'
import type { Site } from '../domain/site/site.ts'
import { LIVE_ENTRIES, readPersonState, readPublicState } from './live-state.ts'

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
  readonly site: Pick<Site, 'store' | 'data'>
  /** Undefined for the public page. */
  readonly personId: string | undefined
  /** Sends a state. */
  readonly send: (state: string) => Promise<void>
  /** Called once when the topic has ended, with the error that ended it. */
  readonly onEnd: (error: unknown) => void
}

/** Watches the inbox of a person, or the newest entries of the site, until it is stopped. Any error ends it. */
export function startTopic({ site, personId, send, onEnd }: TopicOptions): Topic {
  const { store, data } = site
  const end = new AbortController()
  const { signal } = end
  const query = { order: 'desc', limit: LIVE_ENTRIES, signal } as const
  const pages =
    personId === undefined
      ? watch(store, data.entries.byTime.definition, {}, { ...query, scatter: true })
      : watch(store, data.inbox.byPerson.definition, { person_id: personId }, query)
  const read = (): Promise<unknown> =>
    personId === undefined ? readPublicState(data) : readPersonState(data, personId)

  let isStale = false
  let reading: Promise<void> | undefined
  /** Reads states one after another, so that an older one is never sent after a newer one. */
  async function readAndSend(): Promise<void> {
    while (isStale && !signal.aborted) {
      isStale = false
      await send(JSON.stringify(await read()))
    }
  }
  function refresh(): Promise<void> {
    isStale = true
    reading ??= readAndSend().finally(() => (reading = undefined))
    return reading
  }

  let failure: unknown
  const fail = (error: unknown): void => {
    failure ??= error
    end.abort()
  }
  async function follow(): Promise<void> {
    for await (const _ of pages) await refresh()
  }
  const ended = follow()
    .catch(fail)
    .then(() => reading?.catch(fail))
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
