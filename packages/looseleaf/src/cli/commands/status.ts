import { readCleanerReport, type CleanerReport, type IndexReport } from '@looseleaf/cleaner'
import type { StoreStatus } from '@looseleaf/store'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { indexTable } from '../index-table.ts'
import type { Output } from '../output.ts'
import { grouped } from '../text.ts'
import type { CommonOptions } from '../session.ts'

/** `looseleaf status`: shards, counts, indexes, what the cleaner found, warnings. */
export const addStatus: AddCommand = (program, run) => {
  defineCommand(program, {
    usage: 'status',
    summary: 'Show shards, counts, indexes, what the cleaner found, and warnings',
    details:
      'Counts every entity, which takes a while on a large store.\n\nJSON: { "storeId", "shards": [{ "name", "epoch", "entities", "tombstones", "warnings": [text] }], "indexes": [{ "name", "generation", "table", "state", "columns", "shardOn", "lastCleaned": { "finishedAt", "added", "removed", … } | null, "underWay": { "startedAt", "shards": [{ "shard", "phase", "done", "total" }] } | null }], "cleaner": { "updatedAt" | null, "lastFoundAt" | null, "totals": { "added", "removed", … }, "lastError" | null } }',
    examples: [
      ['status', 'for people'],
      ['status --json', 'for a monitor'],
    ],
  }).action((options: CommonOptions) =>
    run(options, async (session) => {
      const { output, signal } = session
      // The warnings have their place in the result.
      const store = await session.store({ warn: false })
      const [status, report] = await Promise.all([
        store.status({ signal }),
        readCleanerReport(store, { signal }),
      ])
      output.result(statusJson(status, report), () => statusText(output, status, report))
    }),
  )
}

function reportOf(
  report: CleanerReport,
  index: { readonly name: string; readonly generation: number },
): IndexReport | undefined {
  return report.indexes.find((other) => other.index === index.name && other.generation === index.generation)
}

function statusJson(status: StoreStatus, report: CleanerReport): unknown {
  const { updatedAt = null, lastFoundAt = null, totals, lastError = null } = report
  return {
    storeId: status.storeId,
    shards: status.shards,
    indexes: status.indexes.map((index) => {
      const own = reportOf(report, index)
      return {
        ...index,
        lastCleaned:
          own?.lastRun === undefined ? null : { finishedAt: own.lastRun.finishedAt, ...own.lastRun.tally },
        underWay: own?.underWay ?? null,
      }
    }),
    cleaner: { updatedAt, lastFoundAt, totals, lastError },
  }
}

function statusText(output: Output, status: StoreStatus, report: CleanerReport): string {
  const { colors } = output
  const shards = status.shards.map(({ name, entities, tombstones, epoch }) => [
    colors.bold(name),
    grouped(entities),
    grouped(tombstones),
    String(epoch),
  ])
  const warnings = status.shards.flatMap((shard) =>
    shard.warnings.map((warning) => `${colors.yellow('Warning:')} ${shard.name}: ${warning}`),
  )
  const cleaned = status.indexes.map((index) => {
    const own = reportOf(report, index)
    return [colors.bold(index.name), lastRunText(own), underWayText(own)]
  })
  const { totals, lastFoundAt, lastError } = report
  return [
    `Store ${status.storeId}`,
    '',
    output.table(['SHARD', 'ENTITIES', 'TOMBSTONES', 'EPOCH'], shards),
    '',
    ...(status.indexes.length === 0
      ? ['No indexes.']
      : [
          indexTable(output, status.indexes),
          '',
          output.table(['INDEX', 'LAST CLEANED', 'UNDER WAY'], cleaned),
        ]),
    ...(report.updatedAt === undefined
      ? []
      : [
          '',
          `Cleaner last seen ${time(report.updatedAt)}: ${grouped(totals.added)} rows added, ${grouped(totals.removed)} removed in all${lastFoundAt === undefined ? '' : `, the last ${time(lastFoundAt)}`}.`,
        ]),
    ...(lastError === undefined
      ? []
      : [`Its last error, ${time(lastError.at)}: ${lastError.code} ${lastError.message}`]),
    ...(warnings.length === 0 ? [] : ['', ...warnings]),
  ].join('\n')
}

function lastRunText(report: IndexReport | undefined): string {
  if (report?.lastRun === undefined) return 'never'
  const { finishedAt, tally } = report.lastRun
  const counts = (['added', 'removed', 'waiting', 'misfits', 'undecodable'] as const)
    .filter((name) => tally[name] > 0)
    .map((name) => `${grouped(tally[name])} ${name}`)
  return `${time(finishedAt)}: ${counts.join(', ') || 'nothing to do'}`
}

function underWayText(report: IndexReport | undefined): string {
  if (report?.underWay === undefined) return ''
  const { startedAt, shards } = report.underWay
  const where = shards.map(({ phase, done, total }) =>
    total === 0 ? phase : `${phase} ${grouped(done)}/${grouped(total)}`,
  )
  return `since ${time(startedAt)}: ${where.join(', ')}`
}

function time(date: Date): string {
  return date.toISOString().replace('T', ' ').slice(0, 19)
}
