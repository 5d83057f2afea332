import type { ActPage } from '@looseleaf/console'
import { durationText, markup, table } from '@looseleaf/console/kit'
import { readConsumers, type ConsumerShardReport, type DataStore } from 'looseleaf'

/** Time limit for reading the reports, in milliseconds. */
const READ_MS = 2_000

/** Creates the page that shows how far deliveries are behind. `consumer` is the name of their consumer. */
export function deliveriesPage(store: DataStore, consumer: string): ActPage {
  return {
    name: 'deliveries',
    label: 'Deliveries',
    title: 'Deliveries, live',
    lead: markup`A consumer of the store’s changes writes new entries to the home pages of followers. Processes share its partitions. If one is killed, another resumes where it stopped, and nobody gets an entry twice.`,
    acts: [],
    plan: () => undefined,
    async part() {
      const reports = await readConsumers(store, { signal: AbortSignal.timeout(READ_MS) })
      const report = reports.find(({ name }) => name === consumer)
      if (report === undefined)
        return { body: markup`<p>The shards that answer know of no delivery yet.</p>` }
      return {
        body: table(
          ['shard', 'behind by', 'partitions in work', 'processes', 'failing', 'given up'],
          report.shards.map(rowOf),
          'Deliveries of each shard',
        ),
      }
    },
  }
}

function rowOf(shard: ConsumerShardReport): readonly string[] {
  const { name, error, lagMs, partitions, processes, failing, deadLetters } = shard
  if (error !== undefined) return [name, 'it does not answer', '', '', '', '']
  const lag = lagMs === undefined ? 'unknown' : lagMs === Infinity ? 'not begun' : durationText(lagMs)
  return [name, lag, ...[partitions, processes, failing, deadLetters].map(String)]
}
