import { crc32, inflateRawSync, inflateSync } from 'node:zlib'

// A reader of stored bodies that follows the README alone and shares only zlib with the codec. It shows the effort of reading a store in
// another language. It trusts its input, and knows only the types of the examples.

/** Content of the table `looseleaf_codec`, by id. */
export type Stored = Readonly<Record<string, Buffer>>

type Layout = readonly (string | readonly [string, 'object' | 'elements', Layout])[]

export function readIndependently(body: Buffer, stored: Stored): unknown {
  const [format, flags] = [body[0], body[1]]
  const sum = crc32(Buffer.concat([body.subarray(0, 6), body.subarray(10)]))
  if (sum !== body.readUInt32BE(6)) throw new Error('checksum')
  let payload = body.subarray(10)
  const readEntry = (): Buffer => {
    const found = stored[payload.subarray(0, 6).toString('hex')]
    payload = payload.subarray(6)
    return found!
  }
  const layout = format === 3 ? (JSON.parse(readEntry().toString()) as Layout) : undefined
  const dictionary = flags === 2 ? readEntry() : undefined
  if (flags === 1) payload = inflateSync(payload)
  if (dictionary !== undefined) payload = inflateRawSync(payload, { dictionary })
  if (payload.length !== body.readUInt32BE(2)) throw new Error('length')
  const value = readValue(payload)
  return layout === undefined ? value : named(layout, value as unknown[])
}

function named(layout: Layout, values: readonly unknown[]): unknown {
  return Object.fromEntries(
    layout.map((item, i) =>
      typeof item === 'string' ? [item, values[i]] : [item[0], nested(item, values[i])],
    ),
  )
}

function nested([, position, layout]: Exclude<Layout[number], string>, value: unknown): unknown {
  const read = (item: unknown): unknown => (Array.isArray(item) ? named(layout, item) : item)
  return position === 'elements' && Array.isArray(value) ? value.map(read) : read(value)
}

/** Reads MessagePack. Any library does the same; this reader has no dependencies. */
function readValue(bytes: Buffer): unknown {
  let at = 0
  const text = (length: number): string => bytes.toString('utf8', at, (at += length))
  const number = (length: number): number => {
    at += length
    return bytes.readUIntBE(at - length, length)
  }
  const list = (length: number, item: () => unknown): unknown[] => Array.from({ length }, item)
  const map = (length: number): unknown =>
    Object.fromEntries(list(length, () => [value(), value()]) as [string, unknown][])

  function value(): unknown {
    const tag = number(1)
    if (tag < 0x80) return tag
    if (tag < 0x90) return map(tag & 15)
    if (tag < 0xa0) return list(tag & 15, value)
    if (tag < 0xc0) return text(tag & 31)
    if (tag === 0xc0) return null
    if (tag === 0xc2 || tag === 0xc3) return tag === 0xc3
    if (tag === 0xcc) return number(1)
    if (tag === 0xd9) return text(number(1))
    if (tag === 0xd6 && number(1) === 0xff) return new Date(number(4) * 1000)
    throw new Error(`tag ${tag}`)
  }
  return value()
}
