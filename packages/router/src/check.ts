import { LooseleafError, type Time } from '@looseleaf/core'
import {
  badOption,
  checkOptions,
  describeKind,
  hasMethods,
  ID_BYTES,
  isBytes,
  optionKinds,
  requireKind,
  wholeNumber,
  type OptionKind,
} from '@looseleaf/core/internal'

/** Throws `BAD_OPTION` unless the number of shards is an integer from 1 to `max`. */
export function checkShards(shards: number, max: number): void {
  requireKind('The number of shards of a router', shards, wholeNumber(1, max))
}

/** Throws `BAD_ID` for anything but 16 bytes. */
export function checkIdBytes(id: Uint8Array): void {
  if (isBytes(id) && id.length === ID_BYTES) return
  throw new LooseleafError('BAD_ID', `An id has to be ${ID_BYTES} bytes here; got ${describeKind(id)}.`)
}

/** Throws `BAD_OPTION` for a key that is not bytes. A string has several encodings, so it is not accepted. */
export function checkKeyBytes(key: Uint8Array): void {
  if (isBytes(key)) return
  throw badOption(`A key to route by has to be bytes; got ${describeKind(key)}.`)
}

interface RouterOptions {
  readonly shards: number
  readonly buckets?: unknown
  readonly time?: Pick<Time, 'now'> | undefined
}

const shared = {
  shards: optionKinds.elsewhere,
  time: { expected: 'an object with now', fits: (value: unknown) => hasMethods(value, ['now']) },
}

/** Throws `BAD_OPTION` unless a router's options are known ones, with a number of shards up to `maxShards`. */
export function checkRouterOptions(
  call: 'bucketRouter' | 'moduloRouter',
  options: RouterOptions,
  maxShards: number,
): void {
  const known = call === 'bucketRouter' ? { ...shared, buckets: optionKinds.elsewhere } : shared
  checkOptions<Partial<RouterOptions>>(call, options, known as Record<keyof RouterOptions, OptionKind>)
  checkShards(options.shards, maxShards)
}
