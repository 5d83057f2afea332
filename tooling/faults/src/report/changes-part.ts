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
    ['of these handled again, as nobody knew whether they were', number(run.again)],
    [
      'older versions after newer ones, by processes that had been paused for longer than their lease',
      number(run.late),
    ],
    [
      'from the write to the handler, median and 99 in 100, ms',
      `${number(run.afterMs.p50)}, ${number(run.afterMs.p99)}`,
    ],
    [
      'from the end of the writing until every consumer had everything, longest, ms',
      number(Math.max(...run.quietMs)),
    ],
    ['last states that a reader by time had missed', number(run.missedByTime)],
    [
      '**last states that a consumer had missed, or got in the wrong order**',
      `**${number(run.wrongs.length)}**`,
    ],
    ['seed, commit', `${run.seed}, ${commit}`],
  ]
  return `## Consumers of changes

Processes write and delete the same entities on two servers, and some of their rows take up to half a second within the database, after their times
were taken. Consumers follow them; every second or so a process is killed or paused, or a server killed. Each round ends with quiet: then every
consumer has to have the last state of every entity, and never an older one after a newer one. One that goes by the time of writing, as a program
without a floor would, reads beside them.

${markdownTable([left('what'), right('measured')], rows)}`
}
