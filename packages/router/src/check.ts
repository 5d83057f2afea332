import { LooseleafError, type Time } from '@looseleaf/core'
import { describeKind, ID_BYTES, isBytes } from '@looseleaf/core/internal'

/** Throws `BAD_OPTION` unless the number of shards is an integer from 1 to `max`. */
export function checkShards(shards: number, max: number): void {
  if (Number.isInteger(shards) && shards >= 1 && shards <= max) return
  const received = typeof shards === 'number' ? String(shards) : describeKind(shards)
  throw new LooseleafError(
    'BAD_OPTION',
    `A router's shards have to be an integer from 1 to ${max}; got ${received}.`,
  )
}

/** Throws `BAD_ID` for anything but 16 bytes. */
export function checkIdBytes(id: Uint8Array): void {
  if (isBytes(id) && id.length === ID_BYTES) return
  throw new LooseleafError('BAD_ID', `An id has to be ${ID_BYTES} bytes here; got ${describeKind(id)}.`)
}

/** Throws `BAD_OPTION` for a key that is not bytes. A string has several encodings, so it is not accepted. */
export function checkKeyBytes(key: Uint8Array): void {
  if (isBytes(key)) return
  throw new LooseleafError('BAD_OPTION', `A key to route by has to be bytes; got ${describeKind(key)}.`)
}

/** Throws `BAD_OPTION` unless a router's options are an object, whose `time` has a method `now` or is undefined. */
export function checkRouterOptions(options: { readonly time?: Pick<Time, 'now'> | undefined }): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new LooseleafError(
      'BAD_OPTION',
      `A router takes options such as { shards: 2 }; got ${describeKind(options)}.`,
    )
  }
  if (options.time === undefined || typeof options.time?.now === 'function') return
  throw new LooseleafError(
    'BAD_OPTION',
    `A router's time has to be an object with now; got ${describeKind(options.time)}.`,
  )
}
