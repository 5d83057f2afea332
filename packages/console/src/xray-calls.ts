import { hasFailed } from './answers.ts'
import { tableKind } from '@looseleaf/core'
import type { Trace, TracedCall, TracedStatement } from '@looseleaf/store'
import { markup, type Html } from './html.ts'
import { counted, milliseconds } from './text.ts'

/** Calls that are alike: of one name and index, with the same end, and served by the same statements. */
export interface SameCalls {
  readonly calls: readonly [TracedCall, ...TracedCall[]]
  /** Of the statements, from 1; what the store reads for itself is left out, since whichever call comes first has it. */
  readonly numbers: readonly number[]
}

/** In the order in which the first of each began. */
export function sameCalls({ calls, statements }: Trace): readonly SameCalls[] {
  const numbersOf = new Map<TracedCall, number[]>()
  for (const [i, { calls: own, table }] of statements.entries())
    for (const call of tableKind(table) === 'own' ? [] : own) {
      const numbers = numbersOf.get(call)
      if (numbers === undefined) numbersOf.set(call, [i + 1])
      else numbers.push(i + 1)
    }
  const groups = new Map<string, { calls: [TracedCall, ...TracedCall[]]; numbers: readonly number[] }>()
  for (const call of calls) {
    const numbers = numbersOf.get(call) ?? []
    const key = JSON.stringify([call.name, call.index, call.failure, numbers])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { calls: [call], numbers })
    else group.calls.push(call)
  }
  return [...groups.values()]
}

/** `query by_name`. */
export function nameOf({ name, index }: TracedCall): string {
  return index === undefined ? name : `${name} ${index}`
}

/** `list by_name ×20, get`. */
export function namesOf(calls: readonly TracedCall[]): string {
  const byName = Map.groupBy(calls, nameOf)
  return [...byName].map(([name, own]) => (own.length === 1 ? name : `${name} ×${own.length}`)).join(', ')
}

/** How long the slowest of them took. */
export function slowest(calls: readonly TracedCall[]): string {
  const took = calls.map(({ durationMs = Infinity }) => durationMs)
  const most = Math.max(...took)
  return most === Infinity ? 'under way' : `${took.length === 1 ? '' : 'up to '}${milliseconds(most)}`
}

const MAX_NUMBERS = 10

/** `none`, `#3`, `#3, #4 and 12 more`. */
export function numbersText(numbers: readonly number[]): string {
  if (numbers.length === 0) return 'none'
  const shown = numbers.slice(0, MAX_NUMBERS).map((number) => `#${number}`)
  const more = numbers.length - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** What of the calls has failed, for a list; nothing where all went well. */
export function failedCalls({ calls }: Trace): Html | undefined {
  const codes = new Set(calls.filter(hasFailed).map(({ failure }) => failure))
  return codes.size === 0 ? undefined : markup` <span class="no">failed: ${[...codes].join(', ')}</span>`
}

/** What has failed, and what it has left undone; nothing where all went well. */
export function failuresOf({ calls, statements, events }: Trace): Html | undefined {
  const failed = calls.filter(hasFailed)
  const codes = [...new Set(failed.map(({ failure }) => failure))].join(', ')
  const halfway = failed.filter((call) => isHalfway(call, statements)).length
  const deferred = new Set(events.flatMap((event) => (event.kind === 'deferred' ? event.tables : []))).size
  if (failed.length === 0 && deferred === 0) return undefined
  return markup`${failed.length === 0 ? undefined : markup`<span class="no">Failed:</span> ${namesOf(failed)}, with ${codes}. `}${
    halfway === 0
      ? ''
      : `${halfway === 1 ? 'One call has' : `${halfway} calls have`} added index rows and committed no entity: these rows lead to nothing, queries discard them, and a cleaner takes them away. `
  }${deferred === 0 ? '' : `Rows of ${counted(deferred, 'index', 'indexes')} are left to the cleaner. `}`
}

/** Whether its index rows are there, and what they are of was never sent. */
function isHalfway(call: TracedCall, statements: readonly TracedStatement[]): boolean {
  const own = statements.filter(({ calls }) => calls.includes(call))
  return (
    own.some((one) => isWrite(one, 'index') && one.failure === undefined) &&
    !own.some((one) => isWrite(one, 'entities'))
  )
}

/** Whether both rows and entities were written, so that their order is to be seen. */
export function writesBoth({ statements }: Trace): boolean {
  return (['index', 'entities'] as const).every((kind) => statements.some((one) => isWrite(one, kind)))
}

function isWrite({ operation, table }: TracedStatement, kind: 'index' | 'entities'): boolean {
  return operation !== 'SELECT' && tableKind(table) === kind
}

/** What the store reads for itself, by table. */
export const OWN: Readonly<Record<string, string>> = {
  looseleaf_meta: 'the catalog, which every process reads again after some seconds',
  looseleaf_codec: 'the shapes and dictionaries of bodies',
  looseleaf_tasks: 'what cleaners have done so far',
  looseleaf_pending: 'index rows that are left to the cleaner',
}
