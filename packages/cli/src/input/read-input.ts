import { jsonFormat } from '@looseleaf/codec'
import { isLooseleafError, LooseleafError, type Bag } from '@looseleaf/core'
import { asBuffer, badOption, describeKind, formatPath, MAX_VALUES } from '@looseleaf/core/internal'
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { withExactIntegers } from './exact-integers.ts'
import { flawPath } from './flaw-path.ts'

/** A line of the input without its line break, counted from 1. */
export interface Line {
  readonly number: number
  /** Undefined for a line beyond the limit. */
  readonly bytes: Buffer | undefined
}

/** Four times the largest body of the default codec, as room for escapes and base64. */
export const MAX_LINE_BYTES: number = 32 * 1024 * 1024

const NEWLINE = 0x0a

/**
 * Yields the lines of a stream, with at most one line and one chunk in memory. It yields a line beyond the limit as soon as
 * the limit is passed: the end of the line may never come, as in `/dev/zero`.
 */
export async function* readLines(
  stream: AsyncIterable<Uint8Array | string>,
  maxLineBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<Line, void, undefined> {
  let number = 0
  let parts: Buffer[] = []
  let length = 0
  let isTooLong = false
  /** Adds a part to the current line; returns the line if this makes it too long. */
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
  /** Ends the current line; returns it unless it was too long and yielded before. */
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
    const chunk = typeof piece === 'string' ? Buffer.from(piece) : asBuffer(piece)
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
 * Parses a line of JSON into a bag with its id. Throws `BAD_PROPERTY`, or `BODY_TOO_LARGE` for too many values. The messages
 * quote nothing of the line.
 */
export function parseBag(line: Buffer): Bag {
  const bytes = line.subarray(0, 3).equals(BYTE_ORDER_MARK) ? line.subarray(3) : line
  const { bag, text } = readBag(bytes)
  const exact = withExactIntegers(text)
  return exact === text ? bag : decode(Buffer.from(exact))
}

function readBag(bytes: Buffer): { readonly bag: Bag; readonly text: string } {
  const text = bytes.toString()
  try {
    return { bag: jsonFormat.decode(bytes), text }
  } catch {
    const exact = withMilliseconds(text)
    return { bag: decode(exact === text ? bytes : Buffer.from(exact)), text: exact }
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

/** Explains why a line is not an entity and what to do, without quoting the line. */
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
  // A value that a bag cannot hold, such as a time in another format.
  const path = flawPath(value, (part) => isDecodable(Buffer.from(JSON.stringify({ part }))))
  const subject = path.length === 0 ? `${needed}; this one` : formatPath(path)
  return `${subject} cannot be stored: ${message.replace(/^.*cannot be decoded: /, '')}`
}

function isDecodable(bytes: Buffer): boolean {
  try {
    jsonFormat.decode(bytes)
    return true
  } catch {
    return false
  }
}

/**
 * Adds missing digits of milliseconds to times, since the codec's JSON needs three. Text inside a JSON string does not match,
 * because its quotes are escaped.
 */
function withMilliseconds(text: string): string {
  return text.replaceAll(
    /(\{\s*"\$date"\s*:\s*"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,2}))?Z"/g,
    (_, time: string, fraction = '') => `${time}.${(fraction as string).padEnd(3, '0')}Z"`,
  )
}

/** Reads a whole stream. Throws `BAD_OPTION` beyond the limit. */
export async function readAll(stream: Readable, maxBytes: number = MAX_LINE_BYTES): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer | string>) {
    const part = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    length += part.length
    if (length > maxBytes) throw badOption(`The input is longer than ${maxBytes} bytes.`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
