import { LooseleafError, type Bag, type Codec } from '@looseleaf/core'
import type { StoredCodecEntry } from '@looseleaf/core/internal'

/** The codec entry to which all bodies of `referring` refer. */
export const entry: StoredCodecEntry = { id: 'entry-1', kind: 'entry', bytes: Buffer.from('1'), added: 1 }

/** A codec whose bodies all refer to the same codec entry. */
export function referring(isKnown: boolean): Codec {
  const codec: Codec = {
    name: 'referring',
    encode: (bag) => Buffer.from(JSON.stringify(bag)),
    decode(body) {
      if (!isKnown) throw new LooseleafError('BODY_UNKNOWN', `The body refers to ${entry.id}.`)
      return JSON.parse(Buffer.from(body).toString()) as Bag
    },
  }
  return {
    ...codec,
    forStore: () => ({
      ...codec,
      codecEntries: {
        writes: false,
        missing: () => (isKnown ? [] : [entry.id]),
        learn: () => (isKnown = true),
        confirm: () => {},
        wanted: () => [],
        train: () => entry,
        known: () => (isKnown ? [entry] : []),
      },
    }),
  }
}
