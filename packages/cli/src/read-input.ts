import { jsonFormat } from '@looseleaf/codec'
import { describeKind, isLooseleafError, LooseleafError, MAX_VALUES, type Bag } from '@looseleaf/core'
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { withExactIntegers } from './exact-integers.ts'

/** A line of the input without its end, counted from 1. */
export interface Line {
  readonly number: number
  /** Undefined for a line that is longer than the limit, which is not kept in memory. */
  readonly bytes: Buffer | undefined
}

/** Four times the largest body of the default codec, for escapes and base64. */
export const MAX_LINE_BYTES: number = 32 * 1024 * 1024

const NEWLINE = 0x0a

/**
 * Yields the lines of a stream, with no more than one line and one chunk in memory. A line beyond the limit is yielded when it
 * passes the limit, so a reader that stops there does not wait for an end that may never come, as in `/dev/zero`.
 */
export async function* readLines(
  stream: AsyncIterable<Uint8Array | string>,
  maxLineBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<Line, void, undefined> {
  let number = 0
  let parts: Buffer[] = []
  let length = 0
  let isTooLong = false
  /** Adds to the line that is being read; returns it if this makes it too long. */
  const add = (part: Buffer): Line | undefined => {
    if (isTooLong) return undefined
    length += part.length
    isTooLong = length > maxLineBytes
    if (isTooLong) {
      parts = []
      return { number: ++number, bytes: undefined }
    }
    if (part.length > 0) parts.push(part)
    return undefined
  }
  /** Ends the line that is being read; returns it unless it was yielded before its end. */
  const end = (): Line | undefined => {
    const line = isTooLong
      ? undefined
      : { number: ++number, bytes: parts.length === 1 ? parts[0] : Buffer.concat(parts) }
    parts = []
    length = 0
    isTooLong = false
    return line
  }
  for await (const piece of stream) {
    const chunk =
      typeof piece === 'string'
        ? Buffer.from(piece)
        : Buffer.from(piece.buffer, piece.byteOffset, piece.length)
    let start = 0
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, start)) {
      const line = add(chunk.subarray(start, at)) ?? end()
      if (line !== undefined) yield line
      if (isTooLong) end()
      start = at + 1
    }
    const tooLong = add(chunk.subarray(start))
    if (tooLong !== undefined) yield tooLong
  }
  const last = length > 0 ? end() : undefined
  if (last !== undefined) yield last
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
    throw new LooseleafError('BAD_PROPERTY', notOneObject(bytes, error.message), { cause: error })
  }
}

/** Says what a line that is not an entity is, and what to do, without a word of its text. */
function notOneObject(bytes: Buffer, message: string): string {
  const needed = 'One JSON object is needed, such as {"title":"Hello"}'
  if (!isUtf8(bytes)) return `${needed}, in UTF-8; these bytes are not UTF-8. Convert the input first.`
  const text = bytes.toString()
  if (text.trimStart().startsWith('[')) {
    return `${needed}; this begins an array. With jq, \`jq -c '.[]'\` makes a line of each of its elements.`
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const { message: reason } = error as Error
    const position = / at position (\d+)/.exec(reason)?.[1]
    const place = reason.includes('end of JSON')
      ? ': it ends too early'
      : position === undefined
        ? ''
        : `: see character ${Number(position) + 1}`
    return `${needed}; this is not JSON${place}.`
  }
  if (typeof value !== 'object' || value === null) return `${needed}; this is ${describeKind(value)}.`
  // A value that no bag has, such as a time of another form.
  return `${needed}; this one cannot be stored: ${message.replace(/^.*cannot be decoded: /, '')}`
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
