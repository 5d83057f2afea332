import { jsonFormat } from '@looseleaf/codec'
import { isLooseleafError, LooseleafError, MAX_VALUES, type Bag } from '@looseleaf/core'
import type { Readable } from 'node:stream'
import { withExactIntegers } from './exact-integers.ts'

/** A line of the input without its end, counted from 1. */
export interface Line {
  readonly number: number
  /** Undefined for a line that is longer than the limit; it was not kept in memory. */
  readonly bytes: Buffer | undefined
}

/** Four times the largest body of the default codec, for escapes and base64. */
export const MAX_LINE_BYTES: number = 32 * 1024 * 1024

const NEWLINE = 0x0a

/** The lines of a stream. No more than one line and one chunk are in memory. */
export async function* readLines(
  stream: AsyncIterable<Uint8Array | string>,
  maxLineBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<Line, void, undefined> {
  let number = 0
  let parts: Buffer[] = []
  let length = 0
  const add = (part: Buffer): void => {
    length += part.length
    if (length > maxLineBytes) parts = []
    else if (part.length > 0) parts.push(part)
  }
  const end = (): Line => {
    const bytes = length > maxLineBytes ? undefined : parts.length === 1 ? parts[0] : Buffer.concat(parts)
    parts = []
    length = 0
    return { number: ++number, bytes }
  }
  for await (const piece of stream) {
    const chunk =
      typeof piece === 'string'
        ? Buffer.from(piece)
        : Buffer.from(piece.buffer, piece.byteOffset, piece.length)
    let start = 0
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, at))
      yield end()
      start = at + 1
    }
    add(chunk.subarray(start))
  }
  if (length > 0) yield end()
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * The bag of one line of JSON, the id among its properties. Throws `BAD_PROPERTY`, or `BODY_TOO_LARGE` for too many values, in words
 * that quote nothing.
 */
export function parseBag(line: Buffer): Bag {
  const bytes = line.subarray(0, 3).equals(BYTE_ORDER_MARK) ? line.subarray(3) : line
  const { bag, text } = readBag(bytes)
  const exact = withExactIntegers(text)
  return exact === text ? bag : decode(Buffer.from(exact))
}

/** The bag, and the text that it was read from. */
function readBag(bytes: Buffer): { readonly bag: Bag; readonly text: string } {
  const text = bytes.toString()
  try {
    return { bag: decode(bytes), text }
  } catch (error) {
    const exact = withMilliseconds(text)
    if (exact === text) throw error
    return { bag: decode(Buffer.from(exact)), text: exact }
  }
}

function decode(bytes: Buffer): Bag {
  try {
    return jsonFormat.decode(bytes)
  } catch (error) {
    if (!isLooseleafError(error)) throw error
    if (error.code === 'BODY_TOO_LARGE') {
      throw new LooseleafError('BODY_TOO_LARGE', `The line has more than ${MAX_VALUES} values.`, {
        cause: error,
      })
    }
    const reason = error.message.replace(/^.*cannot be decoded: /, '')
    throw new LooseleafError('BAD_PROPERTY', `This is not one JSON object of properties: ${reason}`, {
      cause: error,
    })
  }
}

/**
 * Gives times the three digits of milliseconds that they have in bodies. Text within a string of JSON is never taken for
 * one, since its quotes have a backslash before them.
 */
function withMilliseconds(text: string): string {
  return text.replaceAll(
    /(\{\s*"\$date"\s*:\s*"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,2}))?Z"/g,
    (_, time: string, fraction = '') => `${time}.${(fraction as string).padEnd(3, '0')}Z"`,
  )
}

/** The whole of a stream. Throws `BAD_OPTION` beyond the limit. */
export async function readAll(stream: Readable, maxBytes: number = MAX_LINE_BYTES): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer | string>) {
    const part = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    length += part.length
    if (length > maxBytes)
      throw new LooseleafError('BAD_OPTION', `The input is longer than ${maxBytes} bytes.`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
