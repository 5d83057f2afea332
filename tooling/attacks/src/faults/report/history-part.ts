import { markdownTable } from '../markdown-table.ts'
import type { HistoryResultFile } from '../results.ts'
import { left, number, right } from './format.ts'

/** Renders a long history whose only fault is contention. */
export function historyPart({ run, commit }: HistoryResultFile): string {
  const { counts, watch, final, resources } = run
  const mib = (value: number | undefined): string => (value === undefined ? '–' : value.toFixed(1))
  const rows: [string, string][] = [
    ['operations', number(counts.operations)],
    ['processes, and callers in each', `${run.processes}, ${run.clients}`],
    ['hot entities, written by all callers, and others', `${run.hot}, ${run.cold}`],
    ['seconds', number(run.seconds)],
    ['writes acknowledged', number(counts.acknowledged)],
    ['writes refused, nearly all because the entity existed or did not', number(counts.failed)],
    ['writes of unknown outcome', number(counts.unknown)],
    ['reads by id', number(counts.reads)],
    ['queries', number(counts.queries)],
    ['entities that queries had to find, in total', number(counts.expectedInQueries)],
    ['rows looked for under load', number(watch.looks)],
    ['**rows missing at any moment**', `**${number(watch.missing.length)}**`],
    ['index rows at the end', number(final.rows)],
    ['rows missing before the sweep', number(final.missingBeforeSweep)],
    ['rows dangling before the sweep', number(final.danglingBeforeSweep)],
    ['rows missing or dangling after one sweep', number(final.missing + final.dangling)],
    ['connections left on the servers', number(final.leakedConnections)],
    [
      'peak heap, heap growth, rss growth of any process, MiB',
      [resources.peakHeap, resources.heapGrowth, resources.rssGrowth].map(mib).join(', '),
    ],
    ['**impossible answers**', `**${number(run.wrongs.length)}**`],
    ['seed, commit', `${run.seed}, ${commit}`],
  ]
  return `## A history under load

No faults except contention: 7 in 10 operations go to the same few entities, and one process runs a cleaner that fences writers after
20 ms. The checker judges the answers of all callers and their times: versions order the states, no state is visible before its
write was called or after it was replaced, no update is lost, no refused write takes place, and a query finds every entity that
matched from its beginning to its end.

${markdownTable([left('measurement'), right('measured')], rows)}

The checker can fail: the default tests turn off one guard of the protocol at a time (an upsert that overwrites the stamp, an
unguarded delete or replacement) and require that it finds violations.`
}
