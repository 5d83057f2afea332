import type { ChangesResultFile, HistoryResultFile, ReplicasResultFile } from '../results.ts'
import { number } from './format.ts'

/** Page of the tables, relative to the page of the outcome. */
export const TABLES = 'reliability-tables.md'

export interface Runs {
  readonly history: HistoryResultFile | undefined
  readonly changes: ChangesResultFile | undefined
  readonly replicas: ReplicasResultFile | undefined
  readonly faults: number
  readonly failovers: number
  readonly simulations: number
  readonly galera: number
  readonly mysql: boolean
}

/** Renders a paragraph for each kind of run that has a result, with a link to its tables. */
export function runsPart(runs: Runs): string {
  const { history, changes, replicas } = runs
  const paragraphs = [
    history &&
      `**[A history under load](${TABLES}#a-history-under-load).** ${number(history.run.processes)} processes with ${number(history.run.clients)} callers each write and read the same few
entities, and a cleaner runs beside them. A checker judges the answers of all callers by their times: no state is visible before its
write or after its replacement, no update is lost, and a query finds every entity that matched from its beginning to its end.`,
    runs.faults > 0 &&
      `**[Faults](${TABLES}#faults).** The same load and the same checks while one of ${runs.faults} kinds of faults is injected: connections that are
reset, silent, slow or cut after a commit; processes and servers that are killed or paused; disks that are full, read-only or hang;
deadlocks, clocks that are set, and shards that are down.`,
    runs.failovers > 0 &&
      `**[Failovers](${TABLES}#failover-to-a-replica).** A replica is promoted, with and without the loss of its last commits. No other write is lost, and one
sweep of the cleaner makes all tables exact.`,
    changes &&
      `**[Consumers of changes](${TABLES}#consumers-of-changes).** ${number(changes.run.seconds)} seconds of writers, consumers and servers that are killed and paused. Each consumer
must have the last state of every entity after each round.`,
    replicas &&
      `**[Reads from replicas](${TABLES}#reads-from-replicas).** Replicas stop, lag, die and are promoted. No read is older than its bound or its token.`,
    runs.simulations > 0 &&
      `**[Simulation](${TABLES}#simulation).** The store runs on simulated shards, and a seed chooses the order of all steps and faults. A violation can be
repeated by its seed.`,
    `**[Growth](growing.md#measured).** Shards join a store in use, take buckets and leave again, with and without kills. An oracle that shares no code
with the store judges every answer, and at the end every row.`,
    runs.galera > 0 &&
      `**[Galera](${TABLES}#galera).** A cluster of three nodes loses the node that is written to.`,
    runs.mysql &&
      `**[MySQL](${TABLES}#on-mysql).** Shorter forms of the history, the faults and the failovers.`,
  ]
  return `## The runs\n\n${paragraphs.filter((paragraph) => typeof paragraph === 'string').join('\n\n')}`
}
