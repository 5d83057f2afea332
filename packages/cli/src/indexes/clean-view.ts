import { counted, grouped, durationText } from '@looseleaf/core/internal'
import type { CheckResult, CleanProgress, CleanResult } from '@looseleaf/cleaner'
import type { Output } from '../output/output.ts'
import { indexName, stateText } from './index-table.ts'

/**
 * Tells whether an index answers queries correctly. Ignores misfits, which the definition allows, and dangling rows: each
 * costs a read and changes no answer, and a process leaves some at its end for queries in flight.
 */
export function isCorrect({ missing, unclaimed, misplaced, undecodable }: CheckResult): boolean {
  return missing + unclaimed + misplaced + undecodable === 0
}

export function cleanText(output: Output, { indexes }: CleanResult): string {
  if (indexes.length === 0) return 'There is no index to clean.'
  const rows = indexes.map((index) => [
    indexName(output, index),
    stateText(output, index),
    ...[index.entities, index.added, index.removed, index.postponed, index.misfits].map(grouped),
    bad(output, index.duplicates),
    bad(output, index.undecodable),
  ])
  const names = indexes.filter(({ duplicates }) => duplicates > 0).map(({ index }) => index)
  const halted = indexes.filter((index) => index.halted).map(({ index }) => index)
  const postponed = indexes.reduce((sum, index) => sum + index.postponed, 0)
  return [
    output.table(
      ['INDEX', 'STATE', 'ENTITIES', 'ADDED', 'REMOVED', 'POSTPONED', 'MISFITS', 'DUPLICATES', 'UNDECODABLE'],
      rows,
    ),
    ...(postponed === 0
      ? []
      : [
          '',
          `${counted(postponed, 'row', 'rows')} may belong to writes in flight. A later run removes the others.`,
        ]),
    ...[...new Set(halted)].map(
      (name) =>
        `\n${output.colors.yellow(`${name} is not filled now: it is paused or hidden. See: looseleaf index show ${name}`)}`,
    ),
    ...names.map(
      (name) =>
        `\n${output.colors.red(`Entities that share a key are listed by: looseleaf index violations ${name}`)}`,
    ),
    ...(indexes.some(({ undecodable }) => undecodable > 0) ? ['', output.colors.red(UNDECODABLE)] : []),
  ].join('\n')
}

/** Returns the speed of a cleaning, its remaining time, its current and next phases, and the cause of any throttling. */
export function progressText(at: CleanProgress): string {
  const { rate, timeLeftMs, phase, remainingPhases, throttledBy, waited } = at
  const remaining = timeLeftMs === undefined ? [] : [`about ${durationText(timeLeftMs)} left`]
  const phases = remainingPhases.length === 0 ? phase : `${phase}, then ${remainingPhases.join(', ')}`
  const throttling =
    throttledBy === undefined ? [] : [`waits ${Math.round(waited * 100)}% of the time: ${throttledBy}`]
  return [`${grouped(rate)}/s`, ...remaining, phases, ...throttling].join(', ')
}

/** Returns the result of a check for people: one line per index, and advice. */
export function checkText(output: Output, results: readonly CheckResult[]): string {
  if (results.length === 0) return 'There is no index to check.'
  const rows = results.map((result) => [
    output.colors.bold(result.index),
    grouped(result.entities),
    grouped(result.rows),
    bad(output, result.missing),
    bad(output, result.unclaimed),
    grouped(result.dangling),
    bad(output, result.misplaced),
    bad(output, result.undecodable),
    grouped(result.misfits),
    grouped(result.unsettled),
  ])
  const head = [
    'INDEX',
    'ENTITIES',
    'ROWS',
    'MISSING',
    'UNCLAIMED',
    'DANGLING',
    'MISPLACED',
    'UNDECODABLE',
    'MISFITS',
    'UNSETTLED',
  ]
  const wrong = results.filter((result) => !isCorrect(result))
  const dangling = results.reduce((sum, result) => sum + result.dangling, 0)
  return [
    output.table(head, rows),
    '',
    ...(dangling === 0
      ? []
      : [
          `${counted(dangling, 'row matches', 'rows match')} no entity. Queries discard such rows and stay correct; looseleaf clean deletes them, which saves reads.`,
        ]),
    ...wrong
      .filter(isRepairable)
      .map(({ index, examples }) => `${index}: look at ${examples.slice(0, 3).join(', ') || 'its rows'}`),
    ...(wrong.length === 0
      ? [output.colors.green('Every index is correct.')]
      : adviceFor(wrong).map((advice) => output.colors.red(advice))),
  ].join('\n')
}

function adviceFor(wrong: readonly CheckResult[]): string[] {
  const repairable = wrong.filter(isRepairable).map(({ index }) => index)
  return [
    ...(repairable.length === 0 ? [] : [`Repair with: looseleaf clean --index ${repairable.join(' ')}`]),
    ...wrong.flatMap(({ index, unclaimed }) =>
      unclaimed === 0
        ? []
        : [
            `If keys stay unclaimed, entities share them. List them with: looseleaf index violations ${index}`,
          ],
    ),
    ...(wrong.some(({ undecodable }) => undecodable > 0) ? [UNDECODABLE] : []),
  ]
}

/** Tells whether a cleaning can repair the index. It cannot make a body readable. */
function isRepairable({ missing, unclaimed, misplaced }: CheckResult): boolean {
  return missing + unclaimed + misplaced > 0
}

const UNDECODABLE = 'Entities that cannot be decoded are listed by: looseleaf damaged'

function bad(output: Output, count: number): string {
  return count === 0 ? '0' : output.colors.red(grouped(count))
}
