import { markdownTable } from '../markdown-table.ts'
import type { ChangesResultFile } from '../results.ts'
import { left, number, right } from './format.ts'

/** Renders consumers of changes, and the reader by time beside them. */
export function changesPart({ run, commit }: ChangesResultFile): string {
  const faults = Object.entries(run.faults).map(([what, times]): [string, string] => [what, number(times)])
  const rows: [string, string][] = [
    ['seconds, rounds', `${number(run.seconds)}, ${run.rounds}`],
    ['processes that write', number(run.writers)],
    ['consumers, and processes of each', `${run.consumers}, ${run.processes}`],
    ['entities', number(run.entities)],
    ...faults,
    ['changes handled, of all consumers', number(run.handled)],
    ['handled again, because it was unknown whether they had been handled', number(run.again)],
    [
      'older versions after newer ones, by processes that had been paused for longer than their lease',
      number(run.late),
    ],
    [
      'time from write to handler, median and 99 in 100, ms',
      `${number(run.afterMs.p50)}, ${number(run.afterMs.p99)}`,
    ],
    [
      'time from the end of the writes until every consumer had all changes, longest, ms',
      number(Math.max(...run.quietMs)),
    ],
    ['last states that a reader by time missed', number(run.missedByTime)],
    [
      '**last states that a consumer missed, or received in the wrong order**',
      `**${number(run.wrongs.length)}**`,
    ],
    ['seed, commit', `${run.seed}, ${commit}`],
  ]
  return `## Consumers of changes

Processes write and delete the same entities on two servers. Some rows are delayed within the database by up to half a second after
their times were taken. Consumers follow the changes. About every second a process is killed or paused, or a server is killed. Each
round ends with a quiet time; then every consumer must have the last state of every entity, and must never have received an older one
after a newer one. A reader by time, like a program without a floor, runs for comparison.

${markdownTable([left('measurement'), right('measured')], rows)}`
}
