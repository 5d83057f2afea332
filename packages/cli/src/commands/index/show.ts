import { readCleanerReport, type CleanerReport } from '@looseleaf/cleaner'
import { readWorkers } from '@looseleaf/cleaner/internal'
import { counted, grouped, type CatalogEntry, type ExactStep } from '@looseleaf/core/internal'
import { isPaused, predicateText, propertyText } from '@looseleaf/index-engine/internal'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { indexAdvice } from '../../indexes/index-advice.ts'
import {
  addGenerationOption,
  generationsNamed,
  type Generation,
  type GenerationOption,
} from '../../indexes/index-generations.ts'
import { includedText, reportOf, stateText } from '../../indexes/index-table.ts'
import type { Output } from '../../output/output.ts'

const DETAILS = `Counts nothing: the numbers of rows and misfits come from the last cleaning.

JSON, with T for a table:
  { "name",
    "generations": [{ "generation", "properties": [text], "shardOn",
      "on": { property: value }, "include": [text], "onMisfit",
      "expires": path of the time from which entities are deleted,
      "exact": "on", or another text while the index becomes exact,
      "rows": T, "claims": T | null }],
    "advice": [text] }
T:
  { "table", "state", "hidden": true, "paused": true,
    "lastCleaned": { "finishedAt", "added", "removed", "misfits", … } | null,
    "inProgress": { "startedAt", "workers": number of processes that work on it,
      "shards": [{ "shard", "phase", "done", "total" }] } | null }`

export const addShowIndex: AddCommand = (group) => {
  const command = defineCommand(group, {
    usage: 'show <name>',
    summary: 'Show the definition, state and filling of an index',
    details: DETAILS,
    examples: [
      ['index show entries_by_link', 'its definition, generations, states and filling'],
      ['index show entries_by_link --json', 'for a script that waits for a filling'],
    ],
  })
  addGenerationOption(command).does(
    async ({ output, signal, openStore, settings }, name: string, options: GenerationOption) => {
      const { indexes } = await settings()
      const store = await openStore()
      const { all, chosen } = await generationsNamed({ openStore, signal }, name, options.generation)
      const entries = chosen.flatMap(({ rows, claims }) => [rows, ...(claims ? [claims] : [])])
      const report = await readCleanerReport(store, { signal })
      const workers = await readWorkers(
        store,
        entries.map(({ table }) => table),
        { signal },
      )
      const tables = new Map(entries.map((entry) => [entry, tableView(entry, report, workers)] as const))
      const view = (entry: CatalogEntry | undefined): TableView | undefined => entry && tables.get(entry)
      const advice = indexAdvice(all, indexes)
      const generations = chosen.map(({ rows, claims }) => ({
        generation: rows.generation,
        properties: rows.properties.map(propertyText),
        shardOn: rows.shardOn,
        on: rows.on ?? {},
        include: rows.include ?? [],
        onMisfit: rows.onMisfit,
        ...(rows.expires !== undefined && { expires: rows.expires }),
        ...(rows.exact !== undefined && { exact: rows.exact }),
        rows: view(rows) ?? null,
        claims: view(claims) ?? null,
      }))
      output.result({ name, generations, advice }, () =>
        [...chosen.map((generation) => generationText(output, generation, view)), ...advice].join('\n\n'),
      )
    },
  )
}

const LOST_ROWS: Readonly<Record<ExactStep, string>> = {
  counted: 'stay for some seconds; the index becomes exact',
  protected: 'stay for some seconds; the index becomes exact',
  on: "go at once if they are on the entity's shard",
}

type TableView = ReturnType<typeof tableView>

function tableView(entry: CatalogEntry, report: CleanerReport, workers: ReadonlyMap<string, number>) {
  const { table, state, hidden } = entry
  const { lastRun, inProgress } = reportOf(report, entry) ?? {}
  return {
    table,
    state,
    ...(hidden && { hidden }),
    ...(isPaused(entry) && { paused: true as const }),
    lastCleaned: lastRun ? { finishedAt: lastRun.finishedAt, ...lastRun.tally } : null,
    inProgress: inProgress ? { workers: workers.get(table) ?? 0, ...inProgress } : null,
  }
}

function generationText(
  output: Output,
  { rows, claims }: Generation,
  view: (entry: CatalogEntry | undefined) => TableView | undefined,
): string {
  const { name, generation, shardOn, onMisfit } = rows
  return [
    `${output.colors.bold(name)}, generation ${generation}${claims === undefined ? '' : ', unique'}`,
    `  properties  ${rows.properties.map(propertyText).join(', ')}`,
    `  sharded on  ${shardOn}`,
    ...(rows.on === undefined ? [] : [`  on          ${predicateText(rows.on)}`]),
    ...(rows.include === undefined ? [] : [`  includes    ${includedText(rows)}`]),
    ...(rows.expires === undefined
      ? []
      : [`  expires     deletes entities after the time in ${rows.expires}`]),
    ...(rows.exact === undefined ? [] : [`  lost rows   ${LOST_ROWS[rows.exact]}`]),
    `  misfits     ${onMisfit === 'refuse' ? 'are refused' : 'get no row'}`,
    ...[view(rows), view(claims)].flatMap((table) => (table === undefined ? [] : tableText(output, table))),
  ].join('\n')
}

function tableText(output: Output, { lastCleaned, inProgress, ...table }: TableView): string[] {
  return [
    `  table       ${table.table}: ${stateText(output, table)}`,
    ...(lastCleaned === null
      ? []
      : [
          `  cleaned     ${lastCleaned.finishedAt.toISOString()}: ${counted(lastCleaned.added, 'row', 'rows')} added, ${grouped(lastCleaned.removed)} removed, ${counted(lastCleaned.misfits, 'misfit', 'misfits')}`,
        ]),
    ...(inProgress === null
      ? []
      : [
          `  under way   since ${inProgress.startedAt.toISOString()}, ${inProgress.workers === 0 ? 'no worker now' : `by ${counted(inProgress.workers, 'worker', 'workers')}`}`,
          ...inProgress.shards.map(
            ({ shard, phase, done, total }) =>
              `              shard ${shard}: ${phase}${total === 0 ? '' : `, ${grouped(done)} of ${grouped(total)}`}`,
          ),
        ]),
  ]
}
