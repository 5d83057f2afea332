import { setTimeout as sleep } from 'node:timers/promises'
import { unchanged, unset } from 'looseleaf'
import { addSources } from '../../domain/sources/add-sources.ts'
import { readSetting, writeSetting } from '../../domain/site/settings.ts'
import type { Site } from '../../domain/site/site.ts'
import type { Source } from '../../kinds/source.ts'
import type { Publisher } from '../publishers/publisher.ts'
import { closeAll, startPublishers } from '../publishers/start-publishers.ts'

/** Name of the setting with the ports of the publishers, so that the sources of a later day are the same. */
const PORTS = 'ports of the played day'
/** Milliseconds between two looks for sources that have published something. */
const PING_MS = 300
/** Milliseconds to wait at the end for fetches under way. */
const END_MS = 10_000

/** The publishers of a day on this machine, with their sources on the site. */
export interface PublishedSources {
  /** A publisher makes its source due when it publishes something, as a ping does. */
  readonly publishers: readonly Publisher[]
  /** Ids of the sources, in the same order. */
  readonly ids: readonly string[]
  /** Ends the fetching of the sources, and closes the publishers. The sources keep their entries. */
  close(): Promise<void>
}

/** Starts so many publishers, and adds their sources to the site. The crawler of this process may fetch them until the end. */
export async function publishHere(site: Site, count: number): Promise<PublishedSources> {
  const { data, feeds } = site
  const { sources, settings } = data
  const ports = (await readSetting(settings, PORTS))?.split(',').map(Number)
  const started = await startPublishers(count, ports)
  const hosts = started.map(({ host }) => host)
  const end = new AbortController()
  const { signal } = end

  async function open(): Promise<readonly string[]> {
    await writeSetting(settings, PORTS, started.map(({ origin }) => new URL(origin).port).join(','))
    for (const host of hosts) feeds.allowed.add(host)
    const addresses = started.map(({ feedUrl }, i) => ({ address: feedUrl, title: `Source ${i}` }))
    return (await addSources(data, addresses, { personId: undefined })).map(({ id }) => id)
  }

  async function closeServers(): Promise<void> {
    for (const host of hosts) feeds.allowed.delete(host)
    await closeAll(started)
  }

  const ids = await open().catch(async (error: unknown) => {
    await closeServers()
    throw error
  })
  const news = new Set<string>()
  let failure: unknown

  /** Makes sources due. A source that is being fetched now may have been read before its news, so it is tried again. */
  async function ping(): Promise<void> {
    const asked = [...news]
    news.clear()
    const now = new Date()
    const due = await sources.updateMany(
      asked,
      (source) => (isLeased(source, now) ? unchanged : { next_check: now }),
      { fates: true },
    )
    for (const [i, fate] of due.entries())
      if (fate.ok && isLeased(fate.value, now)) news.add(asked[i] as string)
    if (asked.length > 0) feeds.wake()
  }

  async function keepPinging(): Promise<void> {
    while (!signal.aborted) {
      await ping().catch((error: unknown) => (failure = error))
      await sleep(PING_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** Ends the fetching. The outcome of a fetch under way would begin it again. */
  async function endFetching(): Promise<void> {
    const until = performance.now() + END_MS
    for (;;) {
      const now = new Date()
      const ended = await sources.updateMany(
        ids,
        (source) => (isLeased(source, now) ? unchanged : { next_check: unset }),
        { fates: true },
      )
      const busy = ended.filter((fate) => fate.ok && isLeased(fate.value, now)).length
      if (busy === 0 || performance.now() > until) return
      await sleep(PING_MS)
    }
  }

  const pinging = keepPinging()
  return {
    ids,
    publishers: started.map((publisher, i) => ({
      ...publisher,
      publish(item) {
        publisher.publish(item)
        news.add(ids[i] as string)
      },
    })),
    async close() {
      end.abort()
      await pinging
      try {
        await endFetching()
      } finally {
        await closeServers()
      }
      if (failure !== undefined) throw failure
    },
  }
}

function isLeased({ leased_until }: Pick<Source, 'leased_until'>, now: Date): boolean {
  return leased_until !== undefined && leased_until > now
}
