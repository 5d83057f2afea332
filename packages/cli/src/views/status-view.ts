import type { ConsumerReport } from '@looseleaf/changes'
import { grouped, durationText, platformTime } from '@looseleaf/core/internal'
import type { CleanerReport, IndexReport } from '@looseleaf/cleaner'
import type { PartReport, PendingReport, ShardReport } from '@looseleaf/cleaner/internal'
import type { MoveReport, StoreStatus } from '@looseleaf/store'
import type { FailureReport, ReplicaReport, ShardProbe } from '@looseleaf/store/internal'
import { consumersJson, consumersText } from './consumers-view.ts'
import { moveJson, moveLine } from '../moves/move-view.ts'
import type { Finding } from '../health/facts.ts'
import { findingsText, gradeText } from '../health/findings-text.ts'
import { gradeOf } from '../health/rules.ts'
import { indexName, indexTable, reportOf } from '../indexes/index-table.ts'
import type { Output } from '../output/output.ts'
import { policiesText } from './policies-text.ts'
import type { KindNearness } from '../near/near-record.ts'
import { nearJson, nearTable } from '../near/near-text.ts'
import { timeText } from '../output/text.ts'
import { sizeCells, sizeJson, SIZES_NOTE } from '../output/size-text.ts'

/** Data that `looseleaf status` prints. */
export interface StatusView {
  readonly status: StoreStatus
  /** Undefined while the leading shard, which holds it, does not answer or refuses. */
  readonly report: CleanerReport | undefined
  readonly consumers: readonly ConsumerReport[]
  readonly replicas: readonly ReplicaReport[]
  readonly probes: readonly ShardProbe[]
  readonly failures: readonly FailureReport[]
  /** Empty if they could not be read. */
  readonly moves: readonly MoveReport[]
  /** The last counts of the kinds with `near`; kinds that were never checked have none. */
  readonly near: readonly KindNearness[]
  readonly findings: readonly Finding[]
}

export function statusJson(view: StatusView): unknown {
  const { status, report, consumers, replicas, probes, failures, moves, near, findings } = view
  return {
    grade: gradeOf(findings),
    storeId: status.storeId,
    policies: status.policies,
    shards: status.shards.map(({ name, error, epoch, entities, tombstones, oldestTombstone, warnings }) => ({
      name,
      error: error === undefined ? null : { code: error.code, message: error.message },
      epoch: epoch ?? null,
      entities: entities ?? null,
      tombstones: tombstones ?? null,
      oldestTombstone: oldestTombstone ?? null,
      ...sizeJson(probes, name),
      warnings,
    })),
    indexes: status.indexes.map((index) => {
      const cleaning = reportOf(report, index)
      const lastRun = cleaning?.lastRun
      return {
        ...index,
        lastCleaned:
          lastRun === undefined
            ? null
            : { finishedAt: lastRun.finishedAt, missing: lastRun.missing, ...lastRun.tally },
        misfits: cleaning?.misfits ?? null,
        inProgress: inProgressJson(cleaning),
      }
    }),
    cleaner: report === undefined ? null : cleanerJson(report),
    replicas: replicas.map(({ behindMs = null, exclusionReason = null, ...replica }) => ({
      ...replica,
      behindMs,
      exclusionReason,
    })),
    consumers: consumersJson(consumers),
    moves: moves.map(moveJson),
    near: near.map(nearJson),
    failures: failures.map(({ failures: failuresOfProcess, ...note }) => ({
      ...note,
      failures: failuresOfProcess.map(({ shard = null, lastAt, ...failure }) => ({
        ...failure,
        shard,
        lastAt: new Date(lastAt),
      })),
    })),
    findings,
  }
}

function inProgressJson(report: IndexReport | undefined): unknown {
  if (report?.inProgress === undefined) return null
  const { startedAt, savedAt = null, rate, timeLeftMs = null, undecodable, shards } = report.inProgress
  const parts = shards.map(({ worker = null, throttledBy = null, ...part }) => ({
    ...part,
    worker,
    throttledBy,
  }))
  return { startedAt, savedAt, rate, timeLeftMs, undecodable, shards: parts }
}

function cleanerJson(report: CleanerReport): unknown {
  const { updatedAt = null, lastFoundAt = null, lastUndecodableAt = null, totals } = report
  const { lastError = null, sweepEveryMs = null } = report
  const shards = report.shards.map(({ name, isFollowed, isFallingBehind, pending, ...shard }) => {
    const { worker = null, lastRoundAt = null, lagMs = null } = shard
    const waiting = pending && { rows: pending.rows, more: pending.more, oldestAt: pending.oldestAt ?? null }
    return { name, isFollowed, worker, lastRoundAt, lagMs, isFallingBehind, pending: waiting ?? null }
  })
  return { updatedAt, lastFoundAt, lastUndecodableAt, totals, lastError, sweepEveryMs, shards }
}

export function statusText(
  output: Output,
  { status, report, consumers, replicas, probes, failures, moves, near, findings }: StatusView,
): string {
  const { colors } = output
  const number = (value: number | undefined): string => (value === undefined ? '?' : grouped(value))
  const shards = status.shards.map(({ name, entities, tombstones, oldestTombstone, epoch }) => [
    colors.bold(name),
    number(entities),
    number(tombstones),
    oldestTombstone === undefined ? '–' : durationText(platformTime.now() - oldestTombstone.getTime()),
    String(epoch ?? '?'),
    ...sizeCells(probes, name),
  ])
  const errors = status.shards.flatMap(({ name, error }) =>
    error === undefined ? [] : [`${colors.red('Error:')} ${name}: ${error.code} ${error.message}`],
  )
  const warnings = status.shards.flatMap((shard) =>
    shard.warnings.map((warning) => `${colors.yellow('Warning:')} ${shard.name}: ${warning}`),
  )
  // The lines of `errors` already name a shard that failed here. A shard that only fails for the cleaner's report is a finding.
  const isInErrors = ({ rule, about }: Finding): boolean =>
    rule === 'shard' && status.shards.some(({ name, error }) => error && about === `shard ${name}`)
  const findingLines = findingsText(
    output,
    findings.filter((finding) => !isInErrors(finding)),
  )
  return [
    gradeText(output, findings),
    `Store ${status.storeId}`,
    policiesText(status.policies),
    '',
    output.table(['SHARD', 'ENTITIES', 'TOMBSTONES', 'OLDEST', 'EPOCH', 'SIZE', 'GROWTH'], shards),
    SIZES_NOTE,
    ...(replicas.length === 0
      ? []
      : ['', output.table(['REPLICA', 'OF', 'BEHIND'], replicas.map(replicaCells))]),
    '',
    ...indexLines(output, status, report),
    ...(report === undefined ? [] : cleanerText(output, report)),
    ...(consumers.length === 0 ? [] : ['', consumersText(output, consumers)]),
    ...(moves.length === 0 ? [] : ['', ...moves.map(moveLine), 'See: looseleaf shard status']),
    ...(near.length === 0 ? [] : ['', nearTable(output, near)]),
    ...failuresText(output, failures),
    ...(errors.length + warnings.length + findingLines.length === 0
      ? []
      : ['', ...errors, ...warnings, ...findingLines]),
  ].join('\n')
}

/** Returns a table of the failing calls of the last hour, including failures that have ended. */
function failuresText(output: Output, reports: readonly FailureReport[]): readonly string[] {
  const rows = reports.flatMap(({ process, at, isOver, periodMs, calls, failures }) =>
    failures.map(({ code, shard = '', count }) => [
      process,
      shard,
      code,
      `${grouped(count)} of ${grouped(calls)} in ${durationText(periodMs)}`,
      isOver ? `none since ${timeText(at)}` : timeText(at),
    ]),
  )
  if (rows.length === 0) return []
  return ['', output.table(['PROCESS', 'SHARD', 'CALLS FAILED WITH', 'HOW MANY', 'NOTED'], rows)]
}

function replicaCells({ name, primary, behindMs, exclusionReason }: ReplicaReport): string[] {
  return [name, primary, exclusionReason ?? (behindMs === undefined ? '?' : durationText(behindMs))]
}

function indexLines(output: Output, status: StoreStatus, report: CleanerReport | undefined): string[] {
  if (status.indexes.length === 0) return ['No indexes.']
  const cleaned = status.indexes.map((index) => {
    const cleaning = reportOf(report, index)
    return [
      indexName(output, { ...index, index: index.name }),
      report === undefined ? '?' : lastRunText(cleaning),
      cleaning?.misfits === undefined ? '?' : grouped(cleaning.misfits.count),
      underWayText(cleaning),
    ]
  })
  return [
    indexTable(output, status.indexes),
    '',
    output.table(['INDEX', 'LAST CLEANED', 'MISFITS', 'UNDER WAY'], cleaned),
  ]
}

function cleanerText(output: Output, report: CleanerReport): string[] {
  const { updatedAt, totals, lastFoundAt, lastError, shards } = report
  const lines: string[] = []
  if (shards.some(({ lastRoundAt }) => lastRoundAt !== undefined)) {
    lines.push(
      '',
      output.table(['SHARD', 'FOLLOWED BY', 'LAST ROUND', 'LAG', 'PENDING'], shards.map(followed)),
    )
  }
  if (updatedAt !== undefined) {
    const last = lastFoundAt === undefined ? '' : `, the last ${timeText(lastFoundAt)}`
    const counts = `${grouped(totals.added)} rows added, ${grouped(totals.removed)} removed in all${last}`
    lines.push('', `Cleaner last seen ${timeText(updatedAt)}: ${counts}.`)
  }
  const swept = sweptText(report)
  if (swept !== undefined) lines.push(swept)
  if (lastError !== undefined) {
    lines.push(`Its last error, ${timeText(lastError.at)}: ${lastError.code} ${lastError.message}`)
  }
  return lines
}

function followed({ name, worker, isFollowed, lastRoundAt, lagMs, isFallingBehind, pending }: ShardReport) {
  return [
    name,
    isFollowed ? (worker ?? 'a cleaner') : 'no cleaner',
    lastRoundAt === undefined ? 'never' : timeText(lastRoundAt),
    lagMs === undefined ? '?' : `${durationText(lagMs)}${isFallingBehind ? ', growing' : ''}`,
    pending === undefined ? '' : pendingText(pending),
  ]
}

/** Returns the findings of the last sweep, and the time since which every ready index was cleaned. */
function sweptText({ indexes }: CleanerReport): string | undefined {
  const runs = indexes.filter(({ state }) => state === 'ready').map(({ lastRun }) => lastRun)
  const last = runs.filter((run) => run !== undefined)
  if (last.length === 0 || last.length < runs.length) return undefined
  const sum = (of: (run: (typeof last)[number]) => number): string =>
    grouped(last.reduce((total, run) => total + of(run), 0))
  const oldest = new Date(Math.min(...last.map(({ finishedAt }) => finishedAt.getTime())))
  const damaged = Math.max(...last.map(({ tally }) => tally.undecodable))
  const found = [
    `${sum(({ missing }) => missing)} missing`,
    `${sum(({ tally }) => tally.removed + tally.postponed)} dangling`,
    `${sum(({ tally }) => tally.duplicates)} duplicates`,
    `${grouped(damaged)} damaged`,
  ]
  return `All indexes were swept since ${timeText(oldest)}: ${found.join(', ')}.`
}

function lastRunText(report: IndexReport | undefined): string {
  if (report?.lastRun === undefined) return 'never'
  const { finishedAt, tally } = report.lastRun
  const counts = (['added', 'removed', 'postponed', 'duplicates', 'undecodable'] as const)
    .filter((name) => tally[name] > 0)
    .map((name) => `${grouped(tally[name])} ${name}`)
  return `${timeText(finishedAt)}: ${counts.join(', ') || 'nothing to do'}`
}

/** Returns the number of rows that wait for the cleaner: `0`, `1,234`, or `500+` for more than were counted. */
export function pendingText(pending: PendingReport | undefined): string {
  return pending === undefined ? '0' : `${grouped(pending.rows)}${pending.more ? '+' : ''}`
}

/** Returns progress, speed and throttling of a filling or cleaning; empty without one. */
export function underWayText(report: IndexReport | undefined): string {
  if (report?.inProgress === undefined) return ''
  const { startedAt, shards, rate, timeLeftMs } = report.inProgress
  const phases = shards.map(({ phase, done, total }) =>
    total === 0 ? phase : `${phase} ${grouped(done)}/${grouped(total)}`,
  )
  const remaining = timeLeftMs === undefined ? '' : `, about ${durationText(timeLeftMs)} left`
  const pace = rate === 0 ? ['no worker now'] : [`${grouped(rate)} rows/s${remaining}`]
  return `since ${timeText(startedAt)}: ${[...phases, ...pace, ...throttlingText(shards)].join(', ')}`
}

function throttlingText(shards: readonly PartReport[]): string[] {
  const [most] = shards.toSorted((a, b) => b.waited - a.waited)
  return most?.throttledBy === undefined
    ? []
    : [`waits ${Math.round(most.waited * 100)}% of the time: ${most.throttledBy}`]
}
