import { readCleanerReport, type CleanerReport, type IndexReport } from '@looseleaf/cleaner'
import { isOutage } from '@looseleaf/core'
import type { IndexStatus, StoreStatus } from '@looseleaf/store'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { exitCodeOf } from '../exit-codes.ts'
import { indexName, indexTable } from '../index-table.ts'
import { policiesText } from '../policies-text.ts'
import type { Output } from '../output.ts'
import { grouped } from '../text.ts'
import type { CommonOptions } from '../session.ts'

/** `looseleaf status`: shards, counts, indexes, what the cleaner found, warnings. */
export const addStatus: AddCommand = (program, run) => {
  defineCommand(program, {
    usage: 'status',
    summary: 'Show shards, counts, indexes, what the cleaner found, and warnings',
    details:
      'Counts every entity, which takes a while on a large store. A shard that cannot be asked is shown with its error; the exit code is that of the error then, 3 for one that does not answer.\n\nJSON: { "storeId", "policies": { "deleteDelayMs", "onIndexFailure" }, "shards": [{ "name", "error": { "code", "message" } | null, "epoch" | null, "entities" | null, "tombstones" | null, "warnings": [text] }], "indexes": [{ "name", "generation", "table", "state", "columns", "shardOn", "lastCleaned": { "finishedAt", "added", "removed", … } | null, "underWay": { "startedAt", "shards": [{ "shard", "phase", "done", "total" }] } | null }], "cleaner": { "updatedAt" | null, "lastFoundAt" | null, "totals": { "added", "removed", … }, "lastError" | null } | null }. "cleaner" is null while shard 0 does not answer.',
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
        // It is kept on shard 0, which may be the one that does not answer.
        readCleanerReport(store, { signal }).catch((error: unknown) => {
          if (!isOutage(error)) throw error
          return undefined
        }),
      ])
      output.result(statusJson(status, report), () => statusText(output, status, report))
      const [first] = status.shards.flatMap(({ error }) => error ?? [])
      return first && exitCodeOf[first.code]
    }),
  )
}

function reportOf(
  report: CleanerReport | undefined,
  { name, generation, unique }: IndexStatus,
): IndexReport | undefined {
  return report?.indexes.find(
    (other) => other.index === name && other.generation === generation && other.unique === unique,
  )
}

function statusJson(status: StoreStatus, report: CleanerReport | undefined): unknown {
  return {
    storeId: status.storeId,
    policies: status.policies,
    shards: status.shards.map(({ name, error, epoch, entities, tombstones, warnings }) => ({
      name,
      error: error === undefined ? null : { code: error.code, message: error.message },
      epoch: epoch ?? null,
      entities: entities ?? null,
      tombstones: tombstones ?? null,
      warnings,
    })),
    indexes: status.indexes.map((index) => {
      const own = reportOf(report, index)
      return {
        ...index,
        lastCleaned:
          own?.lastRun === undefined ? null : { finishedAt: own.lastRun.finishedAt, ...own.lastRun.tally },
        underWay: own?.underWay ?? null,
      }
    }),
    cleaner: report === undefined ? null : cleanerJson(report),
  }
}

function cleanerJson(report: CleanerReport): unknown {
  const { updatedAt = null, lastFoundAt = null, totals, lastError = null } = report
  return { updatedAt, lastFoundAt, totals, lastError }
}

function statusText(output: Output, status: StoreStatus, report: CleanerReport | undefined): string {
  const { colors } = output
  const number = (value: number | undefined): string => (value === undefined ? '?' : grouped(value))
  const shards = status.shards.map(({ name, entities, tombstones, epoch }) => [
    colors.bold(name),
    number(entities),
    number(tombstones),
    String(epoch ?? '?'),
  ])
  const errors = status.shards.flatMap(({ name, error }) =>
    error === undefined ? [] : [`${colors.red('Error:')} ${name}: ${error.code} ${error.message}`],
  )
  const warnings = status.shards.flatMap((shard) =>
    shard.warnings.map((warning) => `${colors.yellow('Warning:')} ${shard.name}: ${warning}`),
  )
  const cleaned = status.indexes.map((index) => {
    const own = reportOf(report, index)
    return [
      indexName(output, { ...index, index: index.name }),
      report === undefined ? '?' : lastRunText(own),
      underWayText(own),
    ]
  })
  return [
    `Store ${status.storeId}`,
    policiesText(status.policies),
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
    ...(report === undefined ? [] : cleanerText(report)),
    ...(errors.length + warnings.length === 0 ? [] : ['', ...errors, ...warnings]),
  ].join('\n')
}

function cleanerText({ updatedAt, totals, lastFoundAt, lastError }: CleanerReport): string[] {
  const lines: string[] = []
  if (updatedAt !== undefined) {
    const last = lastFoundAt === undefined ? '' : `, the last ${time(lastFoundAt)}`
    const counts = `${grouped(totals.added)} rows added, ${grouped(totals.removed)} removed in all${last}`
    lines.push('', `Cleaner last seen ${time(updatedAt)}: ${counts}.`)
  }
  if (lastError !== undefined) {
    lines.push(`Its last error, ${time(lastError.at)}: ${lastError.code} ${lastError.message}`)
  }
  return lines
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
