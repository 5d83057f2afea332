import { describeKind, LooseleafError } from './errors.ts'
import { MAX_LEASE_MS } from './lease.ts'

/*
 * What comes from JavaScript without types, or from a slip of the hand, is refused before anything is sent. Names that
 * no call knows are refused too: a misspelt `ifVersion` would overwrite what it was meant to protect.
 */

/** What an option has to be. */
export interface OptionKind {
  readonly expected: string
  /** For what would lose its protection by a value that is missing by accident. */
  readonly refusesUndefined?: true
  fits(value: unknown): boolean
}

/** The options of a call with what each has to be. One that is missing here does not compile. */
export type OptionKinds<Options> = Readonly<Record<keyof Options, OptionKind>>

type SharedKind = 'signal' | 'flag' | 'function' | 'array' | 'milliseconds' | 'lease' | 'count' | 'elsewhere'

/** A lease of so many milliseconds or more. */
export function millisecondsOfLease(least: number): OptionKind {
  return {
    expected: `a number of milliseconds from ${least} to ${MAX_LEASE_MS}`,
    fits: (value) =>
      Number.isFinite(value) && (value as number) >= least && (value as number) <= MAX_LEASE_MS,
  }
}

/** Kinds of options that calls of several packages have. */
export const optionKinds: Readonly<Record<SharedKind, OptionKind>> = {
  signal: {
    expected: 'an AbortSignal',
    fits: (value) =>
      hasMethods(value, ['addEventListener', 'removeEventListener']) && typeof value['aborted'] === 'boolean',
  },
  flag: { expected: 'true or false', fits: (value) => typeof value === 'boolean' },
  function: { expected: 'a function', fits: (value) => typeof value === 'function' },
  array: { expected: 'an array', fits: Array.isArray },
  milliseconds: {
    expected: 'a number of milliseconds, 0 or more',
    fits: (value) => Number.isFinite(value) && (value as number) >= 0,
  },
  lease: millisecondsOfLease(0),
  count: {
    expected: 'a whole number, 1 or more',
    fits: (value) => Number.isSafeInteger(value) && (value as number) >= 1,
  },
  /** Whoever takes the value looks at it, and has an error of its own. */
  elsewhere: { expected: 'anything', fits: () => true },
}

/** What calls without options have: the same object each time, which needs no look. */
export const noOptions: Readonly<Record<string, never>> = Object.freeze({})

/** Throws `BAD_OPTION` for anything but an object of these options, each of its kind or, for most, undefined. */
export function checkOptions<Options extends object>(
  call: string,
  options: Options,
  known: OptionKinds<Options>,
): void {
  if ((options as object) === noOptions) return
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw badArgument(call, 'options as an object', options)
  }
  for (const name of Object.keys(options)) {
    const value: unknown = options[name as keyof Options]
    const isKnown = Object.hasOwn(known, name)
    if (value === undefined && !(isKnown && known[name as keyof Options].refusesUndefined)) continue
    if (!isKnown) {
      throw new LooseleafError(
        'BAD_OPTION',
        `${call} has no option ${JSON.stringify(name.slice(0, 40))}; there are ${Object.keys(known).join(', ')}.`,
      )
    }
    const kind = known[name as keyof Options]
    if (kind.fits(value)) continue
    // The number of an option is no stored value.
    const came = typeof value === 'number' ? String(value) : describeKind(value)
    throw new LooseleafError(
      'BAD_OPTION',
      `The option ${name} of ${call} has to be ${kind.expected}; got ${came}.`,
    )
  }
}

export function badArgument(call: string, expected: string, value: unknown): LooseleafError {
  return new LooseleafError('BAD_OPTION', `${call} takes ${expected}; got ${describeKind(value)}.`)
}

export function hasMethods(value: unknown, names: readonly string[]): value is Record<string, unknown> {
  return isRecord(value) && names.every((name) => typeof value[name] === 'function')
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
