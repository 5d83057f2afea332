import { offeredPage, type ActPage } from '@looseleaf/console'
import { markup } from '@looseleaf/console/kit'
import { readCleanerReport, type DataStore } from 'looseleaf'
import type { Latencies } from './latency/latencies.ts'
import { latencySection, type FinishedFilling } from './latency/latency-section.ts'

export type LivePageOptions = Parameters<typeof offeredPage>[0] & {
  readonly store: DataStore
  /** Observer of the store. */
  readonly latencies: Latencies
}

/** Time limit for reading the reports of the cleaner, in milliseconds. */
const REPORT_MS = 2000

/** Creates the page of the offered indexes with the latency of calls below, which shows the effect of adding one. */
export function livePage({ store, latencies, ...options }: LivePageOptions): ActPage {
  const offered = offeredPage({ store, ...options })
  const names = new Set(options.offer.map(({ name }) => name))
  const filled = new Map<string, FinishedFilling>()

  async function readFilled(): Promise<void> {
    const { indexes } = await readCleanerReport(store, { signal: AbortSignal.timeout(REPORT_MS) })
    for (const { index, lastRun } of indexes)
      if (lastRun !== undefined && names.has(index))
        filled.set(`${index} ${lastRun.finishedAt.getTime()}`, { index, at: lastRun.finishedAt })
  }

  return {
    ...offered,
    name: 'live',
    label: 'Add an index',
    title: 'Add an index, live',
    lead: markup`An index is a table of its own on every shard. It can be added and dropped while the site is in use, without a lock, a pause or a migration. Add one, and watch its effect on the latency of calls.`,
    suggestion: (address) =>
      markup`<a href="${address}">Add an index</a> during reads and writes: nothing is locked, and the plot shows the effect on their latency.`,
    async part(acts) {
      // A store that does not answer adds no filling; the part about the indexes says why.
      const [part] = await Promise.all([offered.part(acts), readFilled().catch(() => {})])
      const plot = latencySection({
        latencies,
        acts: acts.ended,
        filled: [...filled.values()],
        now: Date.now(),
      })
      return { ...part, body: markup`${part.body}${plot}` }
    },
  }
}
