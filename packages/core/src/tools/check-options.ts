import { badOption, describeKind, type LooseleafError } from '../errors/errors.ts'
import { MAX_LEASE_MS } from './lease.ts'

/*
 * Calls from JavaScript have no types, so each call checks its options before it sends anything. An unknown name is an
 * error too: a misspelt `ifVersion` would overwrite the version that it should protect.
 */

/** A test for the value of an option. */
export interface OptionKind {
  /** Completes the sentence "The option has to be …". */
  readonly expected: string
  /** For an option that protects something: a value that is undefined by mistake would remove the protection. */
  readonly refusesUndefined?: true
  fits(value: unknown): boolean
}

/** The kinds of all options of a call. A missing one does not compile. */
export type OptionKinds<Options> = Readonly<Record<keyof Options, OptionKind>>

type SharedKind = 'signal' | 'flag' | 'function' | 'array' | 'milliseconds' | 'lease' | 'count' | 'elsewhere'

/** Returns the kind of a lease of at least this many milliseconds. */
export function millisecondsOfLease(least: number): OptionKind {
  return {
    expected: `a number of milliseconds from ${least} to ${MAX_LEASE_MS}`,
    fits: (value) =>
      Number.isFinite(value) && (value as number) >= least && (value as number) <= MAX_LEASE_MS,
  }
}

/** Returns the kind of a whole number within these bounds. */
export function wholeNumber(least: number, most: number): OptionKind {
  return {
    expected: `a whole number from ${least} to ${most}`,
    fits: (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
  }
}

export function oneOf(...texts: readonly string[]): OptionKind {
  return {
    expected: texts.map((text) => `'${text}'`).join(' or '),
    fits: (value) => texts.includes(value as string),
  }
}

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
  /** For a value that the call checks elsewhere, with an error of its own. */
  elsewhere: { expected: 'anything', fits: () => true },
}

/** Default options of a call. `checkOptions` skips this object. */
export const noOptions: Readonly<Record<string, never>> = Object.freeze({})

/**
 * Throws `BAD_OPTION` unless `options` is an object with known names only and each value is of its kind. A value may also be
 * undefined, unless its kind has `refusesUndefined`.
 */
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
      throw badOption(
        `${call} has no option ${JSON.stringify(name.slice(0, 40))}; there are ${Object.keys(known).join(', ')}.`,
      )
    }
    requireKind(`The option ${name} of ${call}`, value, known[name as keyof Options])
  }
}

/** Throws `BAD_OPTION` unless a value is of this kind. `subject` begins the message, such as `The key of deriveId`. */
export function requireKind(subject: string, value: unknown, { expected, fits }: OptionKind): void {
  if (fits(value)) return
  throw badOption(`${subject} has to be ${expected}; got ${describeArgument(value)}.`)
}

/** Describes an option or argument for a message. A number is shown, because it is no stored value. */
export function describeArgument(value: unknown): string {
  return typeof value === 'number' ? String(value) : describeKind(value)
}

export function badArgument(call: string, expected: string, value: unknown): LooseleafError {
  return badOption(`${call} takes ${expected}; got ${describeKind(value)}.`)
}

/** Tells whether a value has these methods. A function may have them too, such as `now` of `Date`, or the static methods of a class. */
export function hasMethods(value: unknown, names: readonly string[]): value is Record<string, unknown> {
  if (!isRecord(value) && typeof value !== 'function') return false
  return names.every((name) => typeof Reflect.get(value, name) === 'function')
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
