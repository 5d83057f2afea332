import { createHash } from 'node:crypto'
import { describeKind, formatId, ID_BYTES, LooseleafError, parseId, type EntityId } from '@looseleaf/core'
import { bucketOfId } from './bucket-of-id.ts'

/** A part of a natural key. Numbers have to be finite. */
export type KeyPart = string | number | boolean

export interface DeriveIdOptions {
  /**
   * An id whose bucket the derived one gets: with the bucket router they stay on one shard. It becomes part of the key: the same
   * name near another id is another id. The modulo router goes by the whole id, so it takes no notice.
   */
  readonly near?: EntityId | undefined
}

/** The namespace of derived ids, in the sense of RFC 9562. It stands in every derived id: it never changes. */
const NAMESPACE = parseId('b0a7e1c6-5d1b-4b0e-9c1f-3f6d0d6e9a52')

/**
 * The id of an entity that has a name: the same kind and key give the same id, in every process and for ever. With
 * `store.insert(bag, { id: deriveId('user', 'ada') })` there can be one entity of that name, which costs nothing but the
 * insert: another insert throws `ALREADY_EXISTS`. An entity cannot be given another name later; where it has to be, use a unique
 * index.
 *
 * It is a UUID of version 5: SHA-1 of the namespace `b0a7e1c6-5d1b-4b0e-9c1f-3f6d0d6e9a52` and of the kind and key as a JSON array in
 * UTF-8, such as `["user","ada"]`; so other languages can make it too. Strings are taken as they are: lower-case or normalise
 * them first where that is meant. Throws `BAD_OPTION` for anything that is not a key, and `BAD_ID` for a `near` that is no id.
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
  if (parts.length === 0) refuse('A derived id needs a key with a part at least', key)
  for (const part of parts)
    if (!isKeyPart(part))
      refuse('A part of the key of a derived id has to be a string, a finite number or a boolean', part)
  for (const option of Object.keys(options)) {
    if (option !== 'near')
      throw new LooseleafError('BAD_OPTION', `deriveId has no option "${option}"; there is near.`)
  }

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

function refuse(expected: string, came: unknown): never {
  const what =
    typeof came === 'string' && !came.isWellFormed()
      ? 'a string with half a surrogate pair'
      : describeKind(came)
  throw new LooseleafError('BAD_OPTION', `${expected}; got ${what}.`)
}
