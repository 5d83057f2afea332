import type { CheckResult, CleanResult } from '@looseleaf/cleaner'
import type { Output } from './output.ts'
import { indexName } from './index-table.ts'
import { counted, grouped } from './text.ts'

/**
 * True when nothing is wrong with an index. Misfits are what its definition allows. Dangling rows cost a read each and change
 * no answer, and a process that has ended leaves some on purpose, for queries under way.
 */
export function isRight({ missing, unclaimed, misplaced, undecodable }: CheckResult): boolean {
  return missing + unclaimed + misplaced + undecodable === 0
}

/** What was done, for people: a line an index. */
export function cleanText(output: Output, { indexes }: CleanResult): string {
  if (indexes.length === 0) return 'There is no index to clean.'
  const rows = indexes.map((index) => [
    indexName(output, index),
    index.state === 'ready' ? output.colors.green(index.state) : output.colors.yellow(index.state),
    ...[index.entities, index.added, index.removed, index.waiting, index.misfits].map(grouped),
    bad(output, index.duplicates),
    bad(output, index.undecodable),
  ])
  const names = indexes.filter(({ duplicates }) => duplicates > 0).map(({ index }) => index)
  const waiting = indexes.reduce((sum, index) => sum + index.waiting, 0)
  return [
    output.table(
      ['INDEX', 'STATE', 'ENTITIES', 'ADDED', 'REMOVED', 'WAITING', 'MISFITS', 'DUPLICATES', 'UNDECODABLE'],
      rows,
    ),
    ...(waiting === 0
      ? []
      : [
          '',
          `${counted(waiting, 'row', 'rows')} may belong to writes under way; a later run removes those that do not.`,
        ]),
    ...names.map(
      (name) =>
        `\n${output.colors.red(`Entities that share a key are listed by: looseleaf index violations ${name}`)}`,
    ),
    ...(indexes.some(({ undecodable }) => undecodable > 0) ? ['', output.colors.red(UNDECODABLE)] : []),
  ].join('\n')
}

/** What a check found, for people: a line an index, and what to do. */
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
  const wrong = results.filter((result) => !isRight(result))
  const dangling = results.reduce((sum, result) => sum + result.dangling, 0)
  return [
    output.table(head, rows),
    '',
    ...(dangling === 0
      ? []
      : [
          `${counted(dangling, 'row matches', 'rows match')} no entity. Answers are right all the same; looseleaf clean deletes such rows, which saves reads.`,
        ]),
    ...wrong
      .filter(isRepairable)
      .map(({ index, examples }) => `${index}: look at ${examples.slice(0, 3).join(', ') || 'its rows'}`),
    ...(wrong.length === 0
      ? [output.colors.green('Every index is right.')]
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
        : [`If keys stay unclaimed, entities share them: looseleaf index violations ${index}`],
    ),
    ...(wrong.some(({ undecodable }) => undecodable > 0) ? [UNDECODABLE] : []),
  ]
}

/** No cleaning makes a body readable. */
function isRepairable({ missing, unclaimed, misplaced }: CheckResult): boolean {
  return missing + unclaimed + misplaced > 0
}

const UNDECODABLE = 'Entities that cannot be decoded are listed by: looseleaf damaged'

function bad(output: Output, count: number): string {
  return count === 0 ? '0' : output.colors.red(grouped(count))
}
