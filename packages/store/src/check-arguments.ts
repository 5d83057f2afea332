import { describeKind, LooseleafError } from '@looseleaf/core'
import type { IndexDefinitionData } from '@looseleaf/core'

/*
 * What comes from JavaScript without types, or from a slip of the hand, is refused before anything is sent. Names that
 * no call knows are refused too: a misspelt `ifVersion` would overwrite what it was meant to protect.
 */

interface OptionKind {
  readonly expected: string
  fits(value: unknown): boolean
}

type KindName =
  | 'damaged'
  | 'signal'
  | 'version'
  | 'flag'
  | 'function'
  | 'array'
  | 'shards'
  | 'router'
  | 'codec'
  | 'time'
  | 'elsewhere'

const kinds: Readonly<Record<KindName, OptionKind>> = {
  damaged: {
    expected: "'fail', 'skip' or a function",
    fits: (value) => value === 'fail' || value === 'skip' || typeof value === 'function',
  },
  signal: { expected: 'an AbortSignal', fits: isSignal },
  version: {
    expected: 'a version, as `put` answers it, or 0',
    fits: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  },
  flag: { expected: 'true or false', fits: (value) => typeof value === 'boolean' },
  function: { expected: 'a function', fits: (value) => typeof value === 'function' },
  array: { expected: 'an array', fits: Array.isArray },
  shards: {
    expected: 'what mysqlShards(…), sqliteShards(…) or memoryShards(…) gives',
    fits: (value) => hasMethods(value, ['connect']) && Number.isInteger(value['shardCount']),
  },
  router: {
    expected: 'a router, such as bucketRouter(…) gives',
    fits: (value) => hasMethods(value, ['shardOfId', 'shardOfKey', 'newId']),
  },
  codec: {
    expected: 'a codec, such as msgpackZlibCodec() gives',
    fits: (value) => hasMethods(value, ['encode', 'decode']),
  },
  time: { expected: 'an object with now and sleep', fits: (value) => hasMethods(value, ['now', 'sleep']) },
  /** Whoever takes the value looks at it, and has an error of its own. */
  elsewhere: { expected: 'anything', fits: () => true },
}

/** The options of a call with what each has to be. One that is missing here does not compile. */
export type OptionKinds<Options> = Readonly<Record<keyof Options, KindName>>

/** Throws `BAD_OPTION` for anything but an object of these options, each of its kind or undefined. */
export function checkOptions<Options extends object>(
  call: string,
  options: Options,
  known: OptionKinds<Options>,
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw badArgument(call, 'options as an object', options)
  }
  for (const name of Object.keys(options)) {
    const value: unknown = options[name as keyof Options]
    if (value === undefined) continue
    if (!Object.hasOwn(known, name)) {
      throw new LooseleafError(
        'BAD_OPTION',
        `${call} has no option ${JSON.stringify(name.slice(0, 40))}; there are ${Object.keys(known).join(', ')}.`,
      )
    }
    const kind = kinds[known[name as keyof Options]]
    if (kind.fits(value)) continue
    throw new LooseleafError(
      'BAD_OPTION',
      `The option ${name} of ${call} has to be ${kind.expected}; got ${describeKind(value)}.`,
    )
  }
}

export function badArgument(call: string, expected: string, value: unknown): LooseleafError {
  return new LooseleafError('BAD_OPTION', `${call} takes ${expected}; got ${describeKind(value)}.`)
}

/** Throws `BAD_INDEX` for what is no definition at all. Whether the store has such an index is another question. */
export function requireDefinition(
  call: string,
  definition: unknown,
): asserts definition is IndexDefinitionData {
  const { name, properties } = isRecord(definition) ? definition : {}
  if (typeof name === 'string' && Array.isArray(properties) && properties.every(isRecord)) return
  throw new LooseleafError(
    'BAD_INDEX',
    `${call} takes an index as defineIndex gives it; got ${describeKind(definition)}.`,
  )
}

function isSignal(value: unknown): boolean {
  return (
    hasMethods(value, ['addEventListener', 'removeEventListener']) && typeof value['aborted'] === 'boolean'
  )
}

function hasMethods(value: unknown, names: readonly string[]): value is Record<string, unknown> {
  return isRecord(value) && names.every((name) => typeof value[name] === 'function')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
