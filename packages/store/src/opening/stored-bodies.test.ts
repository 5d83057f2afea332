import { LooseleafError, type Bag, type StoreCodec } from '@looseleaf/core'
import { envelopeCodec } from '@looseleaf/codec'
import { expect, test, vi } from 'vitest'
import { bodiesWithEntries, type StoredCodecEntries } from './stored-bodies.ts'

const bag: Bag = { user: 'u', place: { city: 'Ulm', street: 'Main' } }
const codec = (): StoreCodec => envelopeCodec({ shapes: true }).forStore!()

/** Returns a codec that knows a shape, and a body that refers to it. */
function shaped(): { readonly writer: StoreCodec; readonly body: Uint8Array } {
  const writer = codec()
  while (writer.codecEntries.wanted().length === 0) writer.encode(bag)
  for (const wanted of writer.codecEntries.wanted()) {
    writer.codecEntries.learn({ ...wanted, added: 1 })
    writer.codecEntries.confirm(wanted.id)
  }
  return { writer, body: writer.encode(bag) }
}

const codeOf = (code: string): object => expect.objectContaining({ code }) as object

test('a body whose entries are known is decoded at once, without a look for entries', () => {
  const { writer, body } = shaped()
  const load = vi.fn<StoredCodecEntries['load']>()
  const missing = vi.spyOn(writer.codecEntries, 'missing')
  const bodies = bodiesWithEntries(writer, { load, publish: () => {} })
  expect(bodies.decode(body, 'a')).toEqual(bag)
  expect(bodies.decode(codec().encode(bag), 'a')).toEqual(bag)
  expect([missing.mock.calls, load.mock.calls]).toEqual([[], []])
})

test('a body with an unknown entry is decoded after its entries are loaded from its shard', async () => {
  const { writer, body } = shaped()
  const reader = codec()
  const load = vi.fn<StoredCodecEntries['load']>(async () => {
    for (const entry of writer.codecEntries.known()) reader.codecEntries.learn(entry)
  })
  const bodies = bodiesWithEntries(reader, { load, publish: () => {} })
  const decoded = bodies.decode(body, 'a')
  expect(decoded).toBeInstanceOf(Promise)
  expect(await decoded).toEqual(bag)
  expect(load.mock.calls).toEqual([[[writer.codecEntries.known()[0]!.id], 'a']])
  expect(bodies.decode(body, 'a')).toEqual(bag)
})

test('a body whose entries no shard has is BODY_UNKNOWN', async () => {
  const bodies = bodiesWithEntries(codec(), { load: async () => {}, publish: () => {} })
  await expect(bodies.decode(shaped().body, 'a')).rejects.toEqual(codeOf('BODY_UNKNOWN'))
})

test('a shard that cannot be asked for entries fails the decoding with its own error', async () => {
  const failed = new LooseleafError('SHARD_UNAVAILABLE', 'down')
  const bodies = bodiesWithEntries(codec(), { load: () => Promise.reject(failed), publish: () => {} })
  await expect(bodies.decode(shaped().body, 'a')).rejects.toBe(failed)
})

test('a damaged body leads to no look for entries', () => {
  const { writer, body } = shaped()
  const missing = vi.spyOn(writer.codecEntries, 'missing')
  const bodies = bodiesWithEntries(writer, { load: async () => {}, publish: () => {} })
  const damaged = body.map((byte, i) => (i === body.length - 1 ? byte ^ 1 : byte))
  expect(() => bodies.decode(damaged, 'a')).toThrow(codeOf('BODY_DAMAGED'))
  expect(missing).not.toHaveBeenCalled()
})
