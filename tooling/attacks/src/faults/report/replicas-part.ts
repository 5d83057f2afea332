import { markdownTable } from '../markdown-table.ts'
import type { ReplicasResultFile } from '../results.ts'
import { left, number, right } from './format.ts'

/** Renders the reads from lagging replicas. */
export function replicasPart({ run, commit }: ReplicasResultFile): string {
  const faults = Object.entries(run.faults).map(([what, times]): [string, string] => [what, number(times)])
  const share = run.toReplicas / Math.max(1, run.toReplicas + run.toPrimaries)
  const rows: [string, string][] = [
    ['seconds, rounds', `${number(run.seconds)}, ${run.rounds}`],
    [
      'processes, entities, replicas of each shard',
      `${run.processes}, ${number(run.entities)}, ${run.replicas ?? 1}`,
    ],
    ...faults,
    ['writes acknowledged', number(run.writes)],
    ['reads with a bound on their age (300, 1,000 or 4,000 ms)', number(run.reads)],
    ['entities in them', number(run.looks)],
    ['reads after a write of the same process, with its token', number(run.own)],
    ['reads with a token of another process', number(run.others)],
    ['ids and scans that were sent to replicas', `${Math.round(share * 100)} %`],
    [
      'age of replaced states when they were read: median, 99 in 100, greatest, ms',
      `${number(run.ages.p50)}, ${number(run.ages.p99)}, ${number(run.ages.max)}`,
    ],
    ['calls that failed', number(Object.values(run.errors).reduce((sum, count) => sum + count, 0))],
    ['**reads beyond their bound, or older than their token**', `**${number(run.wrongs.length)}**`],
    ['seed, commit', `${run.seed}, ${commit}`],
  ]
  return `## Reads from replicas

Processes write on two servers and read from their replicas, by id and by an index. About every half second a replica stops
replaying, is delayed by seconds, paused or killed, and each round ends with a promotion. Every read is compared with the writes that
any process had acknowledged before the call began.

${markdownTable([left('measurement'), right('measured')], rows)}`
}
