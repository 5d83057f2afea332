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
    ['entities that all fight over, and others', `${run.hot}, ${run.cold}`],
    ['seconds', number(run.seconds)],
    ['writes acknowledged', number(counts.acknowledged)],
    ['writes refused, nearly all because the entity was there or not', number(counts.failed)],
    ['writes of unknown outcome', number(counts.unknown)],
    ['reads by id', number(counts.reads)],
    ['queries', number(counts.queries)],
    ['entities that queries had to find, summed up', number(counts.expectedInQueries)],
    ['rows looked for while it went on', number(watch.looks)],
    ['**rows missing at any moment**', `**${number(watch.missing.length)}**`],
    ['index rows in the end', number(final.rows)],
    ['rows missing before the sweep', number(final.missingBeforeSweep)],
    ['rows dangling before the sweep', number(final.danglingBeforeSweep)],
    ['rows missing or dangling after one sweep', number(final.missing + final.dangling)],
    ['connections left on the servers', number(final.leakedConnections)],
    [
      'peak heap, heap growth, rss growth of any process, MiB',
      [resources.peakHeap, resources.heapGrowth, resources.rssGrowth].map(mib).join(', '),
    ],
    ['**answers that cannot be**', `**${number(run.wrongs.length)}**`],
    ['seed, commit', `${run.seed}, ${commit}`],
  ]
  return `## A history under load

No faults but those of competition: 7 in 10 operations go to the same few entities, and one process runs a cleaner that
fences writers after 20 ms. Judged by what each caller was told and when: versions are the order of states, nobody sees a
state before it was called for or after it was over, no update is lost, nothing that was refused takes place, and a query
has every entity that matched from its beginning to its end.

${markdownTable([left('what'), right('measured')], rows)}

The checker can fail: with one guard of the protocol off (an upsert that overwrites the stamp, a removal or a replacement
that is not guarded), the default tests require that it finds losses.`
}
