import { counted, decimal, grouped, durationText } from '@looseleaf/core/internal'
import type { CleanerReport, IndexReport } from '@looseleaf/cleaner'
import type { ShardReport } from '@looseleaf/cleaner/internal'
import type { ShardProbe } from '@looseleaf/store/internal'
import type { Finding } from '../health/facts.ts'
import { findingsJson, findingsText, gradeText } from '../health/findings-text.ts'
import { gradeOf } from '../health/rules.ts'
import { indexName } from '../indexes/index-table.ts'
import type { Output } from '../output/output.ts'
import { pendingText, underWayText } from '../views/status-view.ts'
import { sizeCells, sizeJson, SIZES_NOTE } from '../output/size-text.ts'
import type { ShardLook, Written } from './look-at-shards.ts'

/** State of a store at one moment. */
export interface Look {
  readonly at: Date
  readonly shards: readonly ShardLook[]
  /** Undefined while the leading shard, which holds it, does not answer or refuses. */
  readonly report: CleanerReport | undefined
  readonly probes: readonly ShardProbe[]
  readonly findings: readonly Finding[]
}

export function topJson({ at, shards, report, probes, findings }: Look): unknown {
  return {
    at,
    grade: gradeOf(findings),
    shards: shards.map(({ name, answersInMs, error, entities, written }) => {
      const following = followingOf(report, name)
      return {
        name,
        answersInMs: answersInMs ?? null,
        error: error === undefined ? null : { code: error.code, message: error.message },
        entities: entities ?? null,
        writtenPerSecond: written?.perSecond ?? null,
        lagMs: following?.lagMs ?? null,
        pending:
          following === undefined || following.error !== undefined ? null : (following.pending?.rows ?? 0),
        worker: following?.worker ?? null,
        ...sizeJson(probes, name),
      }
    }),
    indexes: (report?.indexes ?? []).map(({ index, generation, unique = false, state, inProgress }) => ({
      index,
      generation,
      unique,
      state,
      inProgress:
        inProgress === undefined
          ? null
          : { rate: inProgress.rate, timeLeftMs: inProgress.timeLeftMs ?? null },
    })),
    findings: findingsJson(findings),
  }
}

export function topText(output: Output, { at, shards, report, probes, findings }: Look): string {
  const indexes = report?.indexes ?? []
  const busy = indexes.filter(({ state, inProgress }) => state !== 'ready' || inProgress !== undefined)
  return [
    `${gradeText(output, findings)}  ${output.colors.dim(at.toISOString().slice(11, 19))}`,
    '',
    output.table(
      ['SHARD', 'ANSWERS IN', 'ENTITIES', 'WRITTEN', 'CLEANER IS BEHIND', 'PENDING', 'SIZE', 'GROWTH'],
      shards.map((shard) => [
        ...shardCells(output, shard, followingOf(report, shard.name)),
        ...sizeCells(probes, shard.name),
      ]),
    ),
    SIZES_NOTE,
    '',
    report === undefined
      ? 'The state of the indexes is unknown: it is stored on the first shard, which could not be read.'
      : restText(indexes.length - busy.length, busy.length > 0),
    ...(busy.length === 0 ? [] : ['', busyTable(output, busy)]),
    ...(findings.length === 0 ? [] : ['', ...findingsText(output, findings)]),
  ].join('\n')
}

/** Returns a sentence about the idle indexes, which have no line of their own. */
function restText(idle: number, hasBusy: boolean): string {
  if (hasBusy && idle === 0) return 'Every index is being cleaned, or is not ready:'
  const sentence = `${counted(idle, 'index is', 'indexes are')} ready and idle`
  return hasBusy ? `${sentence}. Being cleaned, or not ready:` : `${sentence}.`
}

function shardCells(
  { colors }: Output,
  { name, answersInMs, error, entities, written }: ShardLook,
  following: ShardReport | undefined,
): string[] {
  return [
    colors.bold(name),
    answersInMs === undefined ? colors.red(error?.code ?? '?') : `${decimal(answersInMs)} ms`,
    entities === undefined ? '?' : `about ${grouped(entities)}`,
    written === undefined ? '?' : writtenText(written),
    following?.lagMs === undefined ? '?' : durationText(following.lagMs),
    following === undefined || following.error !== undefined ? '?' : pendingText(following.pending),
  ]
}

const writtenText = ({ perSecond, more }: Written): string =>
  `${more ? 'over ' : ''}${decimal(perSecond)} a second`

function busyTable(output: Output, indexes: readonly IndexReport[]): string {
  return output.table(
    ['INDEX', 'STATE', 'UNDER WAY'],
    indexes.map((index) => [indexName(output, index), index.state, underWayText(index)]),
  )
}

const followingOf = (report: CleanerReport | undefined, shard: string): ShardReport | undefined =>
  report?.shards.find(({ name }) => name === shard)
