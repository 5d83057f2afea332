import { hasFailed } from './failed-calls.ts'
import { tableKind } from '@looseleaf/core'
import type { Trace } from '@looseleaf/store'
import type { TracedCall, TracedStatement } from '@looseleaf/store/internal'
import { markup, type Html } from '../kit/html.ts'
import { counted, milliseconds } from '../kit/text.ts'

/** Calls with the same name, index, error and statements. */
export interface SameCalls {
  readonly calls: readonly [TracedCall, ...TracedCall[]]
  /** Numbers of the statements, from 1. Leaves out statements of the store itself, which belong to the first call by chance. */
  readonly numbers: readonly number[]
}

/** Groups the calls of a trace, in the order of their starts. */
export function sameCalls({ calls, statements }: Trace): readonly SameCalls[] {
  const served = statements.flatMap(({ calls: callsOf, table }, i) =>
    tableKind(table) === 'own' ? [] : callsOf.map((call) => ({ call, number: i + 1 })),
  )
  const byCall = Map.groupBy(served, ({ call }) => call)
  const numbersFor = (call: TracedCall): readonly number[] =>
    (byCall.get(call) ?? []).map(({ number }) => number)
  const groups = Map.groupBy(calls, (call) =>
    JSON.stringify([call.name, call.index, call.failure, numbersFor(call)]),
  )
  return [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [{ calls: [first, ...others] as const, numbers: numbersFor(first) }],
  )
}

/** Returns a text such as `query by_name`. */
export function nameOf({ name, index }: TracedCall): string {
  return index === undefined ? name : `${name} ${index}`
}

/** Returns a text such as `list by_name ×20, get`. */
export function namesOf(calls: readonly TracedCall[]): string {
  const byName = Map.groupBy(calls, nameOf)
  return [...byName].map(([name, same]) => (same.length === 1 ? name : `${name} ×${same.length}`)).join(', ')
}

/** Returns the duration of the slowest call; `in flight` if one has not ended. */
export function slowest(calls: readonly TracedCall[]): string {
  const durations = calls.map(({ durationMs = Infinity }) => durationMs)
  const longest = Math.max(...durations)
  return longest === Infinity
    ? 'in flight'
    : `${durations.length === 1 ? '' : 'up to '}${milliseconds(longest)}`
}

const MAX_NUMBERS = 10

/** Returns a text such as `none`, `#3` or `#3, #4 and 12 more`. */
export function numbersText(numbers: readonly number[]): string {
  if (numbers.length === 0) return 'none'
  const shown = numbers.slice(0, MAX_NUMBERS).map((number) => `#${number}`)
  const more = numbers.length - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Renders the error codes of the failed calls for a list; undefined without failures. */
export function failedCalls({ calls }: Trace): Html | undefined {
  const codes = new Set(calls.filter(hasFailed).map(({ failure }) => failure))
  return codes.size === 0 ? undefined : markup` <span class="no">failed: ${[...codes].join(', ')}</span>`
}

/** Renders the failed calls and the index rows that they have left; undefined without failures. */
export function failuresOf({ calls, statements, events }: Trace): Html | undefined {
  const failed = calls.filter(hasFailed)
  const codes = [...new Set(failed.map(({ failure }) => failure))].join(', ')
  const halfway = failed.filter((call) => isHalfway(call, statements)).length
  const deferred = new Set(events.flatMap((event) => (event.kind === 'deferred' ? event.tables : []))).size
  if (failed.length === 0 && deferred === 0) return undefined
  return markup`${failed.length === 0 ? undefined : markup`<span class="no">Failed:</span> ${namesOf(failed)}, with ${codes}. `}${
    halfway === 0
      ? ''
      : `${halfway === 1 ? 'One call has' : `${halfway} calls have`} added index rows and committed no entity: queries discard these rows, and a cleaner deletes them. `
  }${deferred === 0 ? '' : `The cleaner will write the rows of ${counted(deferred, 'index', 'indexes')}. `}`
}

/** Tells whether a call has written index rows and never sent the entity. */
function isHalfway(call: TracedCall, statements: readonly TracedStatement[]): boolean {
  const ofCall = statements.filter(({ calls }) => calls.includes(call))
  return (
    ofCall.some((statement) => isWrite(statement, 'index') && statement.failure === undefined) &&
    !ofCall.some((statement) => isWrite(statement, 'entities'))
  )
}

export function writesBoth({ statements }: Trace): boolean {
  return (['index', 'entities'] as const).every((kind) =>
    statements.some((statement) => isWrite(statement, kind)),
  )
}

function isWrite({ operation, table }: TracedStatement, kind: 'index' | 'entities'): boolean {
  return operation !== 'SELECT' && tableKind(table) === kind
}

/** Contents of the tables that the store reads for itself. */
export const OWN: Readonly<Record<string, string>> = {
  looseleaf_meta: 'the catalog, which every process reads again every few seconds',
  looseleaf_codec: 'the shapes and dictionaries of bodies',
  looseleaf_tasks: 'the progress of cleaners',
  looseleaf_pending: 'index rows that the cleaner will write',
}
