import { createHash } from 'node:crypto'
import { formatId, parseId, type EntityId } from '@looseleaf/core'
import { badOption, checkOptions, describeKind, ID_BYTES, optionKinds } from '@looseleaf/core/internal'
import { bucketOfId } from './bucket-of-id.ts'

/** Part of a natural key. A number has to be finite. */
export type KeyPart = string | number | boolean

export interface DeriveIdOptions {
  /**
   * An id whose bucket the derived id gets, so that the bucket router keeps both on one shard. The same name near another id gives
   * another id. The modulo router uses the whole id, so `near` has no effect on it.
   */
  readonly near?: EntityId | undefined
}

/** Namespace of derived ids (RFC 9562). Never changes, because every derived id depends on it. */
const NAMESPACE = parseId('b0a7e1c6-5d1b-4b0e-9c1f-3f6d0d6e9a52')

/**
 * Derives the id of a named entity: the same kind and key give the same id, in every process and for ever. So
 * `store.insert(bag, { id: deriveId('user', 'ada') })` succeeds once per name, at no extra cost; another insert throws
 * `ALREADY_EXISTS`. An entity cannot change its name; use a unique index if it has to.
 *
 * The id is a UUID of version 5: the SHA-1 of the namespace `b0a7e1c6-5d1b-4b0e-9c1f-3f6d0d6e9a52` and of the kind and key as a JSON array
 * in UTF-8, such as `["user","ada"]`, which any language can compute. Strings are used unchanged: convert them to lower case or
 * normalize them first if names should be equal then.
 *
 * Throws `BAD_OPTION` for a kind or key that is not valid, and `BAD_ID` for a `near` that is not an id.
 */
export function deriveId(
  kind: string,
  key: KeyPart | readonly KeyPart[],
  options: DeriveIdOptions = {},
): EntityId {
  if (typeof kind !== 'string' || kind === '' || !kind.isWellFormed()) {
    refuse(`A derived id needs a kind such as 'user'`, kind)
  }
  const parts: readonly unknown[] = Array.isArray(key) ? key : [key]
  if (parts.length === 0) refuse('A derived id needs a key with at least one part', key)
  for (const part of parts)
    if (!isKeyPart(part))
      refuse('A part of the key of a derived id has to be a string, a finite number or a boolean', part)
  checkOptions('deriveId', options, { near: optionKinds.elsewhere })

  const name = JSON.stringify([kind, ...parts])
  const id = createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, ID_BYTES)
  if (options.near !== undefined) {
    const bucket = bucketOfId(parseId(options.near))
    id[6] = bucket >> 8
    id[7] = bucket & 0xff
  }
  id[6] = 0x50 | ((id[6] as number) & 0x0f)
  id[8] = 0x80 | ((id[8] as number) & 0x3f)
  return formatId(id)
}

function isKeyPart(part: unknown): part is KeyPart {
  if (typeof part === 'string') return part.isWellFormed()
  return typeof part === 'boolean' || (typeof part === 'number' && Number.isFinite(part))
}

function refuse(expected: string, received: unknown): never {
  const kind =
    typeof received === 'string' && !received.isWellFormed()
      ? 'a string with half a surrogate pair'
      : describeKind(received)
  throw badOption(`${expected}; got ${kind}.`)
}
