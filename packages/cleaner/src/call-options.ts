import {
  badArgument,
  checkOptions,
  isRecord,
  optionKinds,
  type CallOptions,
  type OptionKind,
  type OptionKinds,
} from '@looseleaf/core'
import type { CheckOptions } from './check-index.ts'
import type { CleanOptions } from './clean-index.ts'
import type { PassOptions } from './pass.ts'
import type { CleanerOptions } from './start-cleaner.ts'
import type { SweepOptions } from './sweep.ts'
import type { CleanerTarget } from './target.ts'

const { signal, flag, function: callback, milliseconds, count, elsewhere } = optionKinds

const rate: OptionKind = {
  expected: 'a number above 0',
  fits: (value) => typeof value === 'number' && value > 0,
}

interface OptionsOf {
  readonly call: OptionKinds<CallOptions>
  readonly pass: OptionKinds<PassOptions>
  readonly sweep: OptionKinds<SweepOptions>
  readonly clean: OptionKinds<CleanOptions>
  readonly check: OptionKinds<CheckOptions>
  readonly start: OptionKinds<CleanerOptions>
}

const cancelling = { signal }
const pass = {
  ...cancelling,
  graceMs: milliseconds,
  rowsPerSecond: rate,
  pageSize: count,
  onProblem: callback,
}

/** What the options of every call have to be. */
export const optionsOf: OptionsOf = {
  call: cancelling,
  pass,
  sweep: { ...pass, indexes: elsewhere, shard: elsewhere },
  clean: {
    ...pass,
    onProgress: callback,
    onWait: callback,
    restart: flag,
    check: flag,
    settleMs: milliseconds,
    shardsAtOnce: count,
    leaseMs: milliseconds,
    checkpointMs: milliseconds,
    pollMs: milliseconds,
  },
  check: { ...cancelling, rowsPerSecond: rate, settleMs: milliseconds, onProblem: callback },
  start: {
    intervalMs: milliseconds,
    idleIntervalMs: milliseconds,
    overlapMs: milliseconds,
    rowsPerRound: count,
    lookBackMs: milliseconds,
    maxLagMs: milliseconds,
    graceMs: milliseconds,
    catalogMs: milliseconds,
    sweepEveryMs: milliseconds,
    rowsPerSecond: rate,
    leaseMs: milliseconds,
    settleMs: milliseconds,
    pollMs: milliseconds,
    keepAlive: flag,
    onProgress: callback,
    onProblem: callback,
    onError: callback,
  },
}

/** Throws `BAD_OPTION` for what is no store, and for options that are not right. */
export function checkCall<Options extends object>(
  name: string,
  store: CleanerTarget,
  options: Options,
  known: OptionKinds<Options>,
): void {
  const context: unknown = isRecord(store) ? store['context'] : undefined
  if (!isRecord(context) || !isRecord(context['driver']) || !isRecord(context['catalog'])) {
    throw badArgument(name, 'a DataStore', store)
  }
  checkOptions(name, options, known)
}

/** Throws `BAD_OPTION` for what is neither a name, nor names, nor nothing. */
export function checkNames(call: string, names: unknown): void {
  if (names === undefined || typeof names === 'string') return
  if (Array.isArray(names)) for (const name of names) checkName(call, name)
  else throw notNamed(call, 'the name of an index, an array of names, or undefined for all indexes', names)
}

/** Throws `BAD_OPTION` for what is no name. */
export function checkName(call: string, name: unknown): void {
  if (typeof name !== 'string') throw notNamed(call, 'the name of an index', name)
}

function notNamed(call: string, expected: string, value: unknown): Error {
  const isDefinition = isRecord(value) && 'properties' in value && typeof value['name'] === 'string'
  return badArgument(call, isDefinition ? `${expected}, which is the definition’s .name` : expected, value)
}
