import type { CleanerReport, IndexReport, ShardReport } from '@looseleaf/cleaner'
import { durationText } from '../duration-text.ts'
import type { ShardProbe } from '@looseleaf/store'
import type { Finding } from '../health/facts.ts'
import { findingsJson, findingsText, gradeText } from '../health/findings-text.ts'
import { gradeOf } from '../health/rules.ts'
import { indexName } from '../index-table.ts'
import type { Output } from '../output.ts'
import { pendingText, underWayText } from '../status-view.ts'
import { sizeCells, sizeJson, SIZES_NOTE } from '../size-text.ts'
import { counted, grouped } from '../text.ts'
import type { ShardLook, Written } from './look-at-shards.ts'

/** A store at a moment. */
export interface Look {
  readonly at: Date
  readonly shards: readonly ShardLook[]
  /** Undefined while shard 0 does not answer, or refuses. */
  readonly report: CleanerReport | undefined
  readonly probes: readonly ShardProbe[]
  readonly findings: readonly Finding[]
}

export function topJson({ at, shards, report, probes, findings }: Look): unknown {
  return {
    at,
    grade: gradeOf(findings),
    shards: shards.map(({ name, answersInMs, error, entities, written }) => {
      const own = followedBy(report, name)
      return {
        name,
        answersInMs: answersInMs ?? null,
        error: error === undefined ? null : { code: error.code, message: error.message },
        entities: entities ?? null,
        writtenPerSecond: written?.perSecond ?? null,
        lagMs: own?.lagMs ?? null,
        pending: own === undefined || own.error !== undefined ? null : (own.pending?.rows ?? 0),
        worker: own?.worker ?? null,
        ...sizeJson(probes, name),
      }
    }),
    indexes: (report?.indexes ?? []).map(({ index, generation, unique = false, state, underWay }) => ({
      index,
      generation,
      unique,
      state,
      underWay:
        underWay === undefined ? null : { rate: underWay.rate, timeLeftMs: underWay.timeLeftMs ?? null },
    })),
    findings: findingsJson(findings),
  }
}

export function topText(output: Output, { at, shards, report, probes, findings }: Look): string {
  const indexes = report?.indexes ?? []
  const busy = indexes.filter(({ state, underWay }) => state !== 'ready' || underWay !== undefined)
  return [
    `${gradeText(output, findings)}  ${output.colors.dim(at.toISOString().slice(11, 19))}`,
    '',
    output.table(
      ['SHARD', 'ANSWERS IN', 'ENTITIES', 'WRITTEN', 'CLEANER IS BEHIND', 'PENDING', 'SIZE', 'GROWTH'],
      shards.map((shard) => [
        ...shardCells(output, shard, followedBy(report, shard.name)),
        ...sizeCells(probes, shard.name),
      ]),
    ),
    SIZES_NOTE,
    '',
    report === undefined
      ? 'Nothing is known of the indexes: shard 0 keeps that.'
      : restText(indexes.length - busy.length, busy.length > 0),
    ...(busy.length === 0 ? [] : ['', busyTable(output, busy)]),
    ...(findings.length === 0 ? [] : ['', ...findingsText(output, findings)]),
  ].join('\n')
}

/** Of the indexes that have no line of their own. */
function restText(count: number, hasOthers: boolean): string {
  if (hasOthers && count === 0) return 'Every index is worked on, or not ready:'
  const ready = `${counted(count, 'index is', 'indexes are')} ready, and nothing is done to ${count === 1 ? 'it' : 'them'}`
  return hasOthers ? `${ready}; worked on, or not ready, are:` : `${ready}.`
}

function shardCells(
  { colors }: Output,
  { name, answersInMs, error, entities, written }: ShardLook,
  own: ShardReport | undefined,
): string[] {
  return [
    colors.bold(name),
    answersInMs === undefined ? colors.red(error?.code ?? '?') : `${answersInMs.toFixed(1)} ms`,
    entities === undefined ? '?' : `about ${grouped(entities)}`,
    written === undefined ? '?' : writtenText(written),
    own?.lagMs === undefined ? '?' : durationText(own.lagMs),
    own === undefined || own.error !== undefined ? '?' : pendingText(own.pending),
  ]
}

const writtenText = ({ perSecond, more }: Written): string =>
  `${more ? 'over ' : ''}${perSecond < 10 ? perSecond.toFixed(1) : grouped(Math.round(perSecond))} a second`

function busyTable(output: Output, indexes: readonly IndexReport[]): string {
  return output.table(
    ['INDEX', 'STATE', 'UNDER WAY'],
    indexes.map((index) => [indexName(output, index), index.state, underWayText(index)]),
  )
}

const followedBy = (report: CleanerReport | undefined, shard: string): ShardReport | undefined =>
  report?.shards.find(({ name }) => name === shard)
