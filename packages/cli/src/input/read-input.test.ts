import { deepStrictEqual } from 'node:assert/strict'
import { arbitraryBag } from '@looseleaf-tooling/kit/arbitrary-bag'
import type { Entity } from '@looseleaf/core'
import { MAX_DEPTH, MAX_VALUES } from '@looseleaf/core/internal'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'
import { entityJson, entityLine } from '../views/entity-view.ts'
import { parseBag, readLines } from './read-input.ts'

async function linesOf(
  pieces: readonly (string | Buffer)[],
  limit?: number,
): Promise<(string | undefined)[]> {
  const stream = (async function* () {
    for (const piece of pieces) yield piece
  })()
  const lines: (string | undefined)[] = []
  for await (const { number, bytes } of readLines(stream, limit)) {
    lines.push(bytes?.toString())
    expect(number).toBe(lines.length)
  }
  return lines
}

test('lines come whole, wherever the stream was cut', async () => {
  expect(await linesOf(['a\nb', 'c\n', '\n', 'd'])).toEqual(['a', 'bc', '', 'd'])
  const snowman = Buffer.from('☃\n☃')
  expect(await linesOf([...snowman].map((byte) => Buffer.of(byte)))).toEqual(['☃', '☃'])
})

test('an empty input has no line', async () => {
  expect(await linesOf([])).toEqual([])
  expect(await linesOf([''])).toEqual([])
})

test('a line beyond the limit has no bytes, and the next one is read', async () => {
  expect(await linesOf(['aaa', 'aaa\nbb\n', 'ccccc', 'c'], 4)).toEqual([undefined, 'bb', undefined])
  expect(await linesOf(['aaaaaa\nbb\ncccccc\n', 'dd'], 4)).toEqual([undefined, 'bb', undefined, 'dd'])
})

test('a line beyond the limit is yielded before its end, which may never come', async () => {
  const endless = async function* () {
    for (;;) yield 'aaa'
  }
  for await (const line of readLines(endless(), 10)) {
    expect(line).toEqual({ number: 1, bytes: undefined })
    break
  }
})

test('tagged values, a byte order mark and a carriage return are read', () => {
  const line = Buffer.from('\uFEFF{"at":{"$date":"2009-02-27T00:00:00.000Z"},"n":{"$bigint":"12"},"$$x":1}\r')
  expect(parseBag(line)).toEqual({ at: new Date('2009-02-27T00:00:00Z'), n: 12n, $x: 1 })
})

test.each([
  '2026-01-01T00:00:00Z',
  '2026-01-01T00:00:00.0Z',
  '2026-01-01T00:00:00.00Z',
  '2026-01-01T00:00:00.000Z',
])('a time may leave out milliseconds: %s', (time) => {
  const line = Buffer.from(`{"at":{"$date":"${time}"},"list":[{ "$date" : "${time}" }]}`)
  const date = new Date('2026-01-01T00:00:00Z')
  expect(parseBag(line)).toEqual({ at: date, list: [date] })
})

test('digits of a fraction keep their place, and text that looks like a time stays text', () => {
  const text = '{"$date":"2026-01-01T00:00:00Z"}'
  const line = Buffer.from(`{"at":{"$date":"2026-01-01T00:00:00.5Z"},"text":${JSON.stringify(text)}}`)
  expect(parseBag(line)).toEqual({ at: new Date('2026-01-01T00:00:00.500Z'), text })
})

test.each([
  '2026-02-30T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:00:60Z',
  '2026-01-01T00:00Z',
  '2026-01-01',
  '2026-01-01T00:00:00',
  '2026-01-01T00:00:00+01:00',
  '2026-01-01T00:00:00.1234Z',
  ' 2026-01-01T00:00:00Z',
])('%j is not a time', (time) => {
  expect(() => parseBag(Buffer.from(JSON.stringify({ at: { $date: time } })))).toThrow('a time is not valid')
})

test.each(['{', '[]', '7', 'null', '{"$date":"2009-02-27T00:00:00.000Z"}'])(
  'the error of a line that is not a bag does not quote it: %s',
  (text) => {
    const parse = (): unknown => parseBag(Buffer.from(text))
    expect(parse).toThrow(expect.objectContaining({ code: 'BAD_PROPERTY' }))
    expect(parse).toThrow('One JSON object is needed')
    expect(parse).not.toThrow('hunter2')
  },
)

test('integers beyond 2^53 - 1 become exact bigints', () => {
  const line = `{"safe":9007199254740991,"unsafe":9007199254740993,"even":-9007199254740992,
    "in":[{"x":18446744073709551615},-9223372036854775808],"text":"9007199254740993","$$bigint":12345678901234567}`
  expect(parseBag(Buffer.from(line))).toStrictEqual({
    safe: 9007199254740991,
    unsafe: 9007199254740993n,
    even: -9007199254740992n,
    in: [{ x: 2n ** 64n - 1n }, -(2n ** 63n)],
    text: '9007199254740993',
    $bigint: 12345678901234567n,
  })
})

test('a number with a fraction or an exponent stays a number, whatever its length', () => {
  const line = '{"a":1e20,"b":12345678901234567890.0,"c":0.12345678901234567890,"d":9.007199254740992e+15}'
  const numbers = { a: 1e20, b: 12345678901234567000, c: 0.12345678901234568, d: 2 ** 53 }
  expect(parseBag(Buffer.from(line))).toStrictEqual(numbers)
})

test.each([
  ['{"ok":1,"in":[0,{"a b":[[18446744073709551616]]}],"more":{"x":[1]}}', 'in[1]["a b"][0][0]'],
  ['{"n":-9223372036854775809,"other":18446744073709551617}', 'n'],
  ['{"at":{"$date":"2026-01-01T00:00:00Z"},"n":100000000000000000000}', 'n'],
])('an integer beyond 64 bits is refused with the path to it: %s', (text, path) => {
  expect(() => parseBag(Buffer.from(text))).toThrow(
    expect.objectContaining({
      code: 'BAD_PROPERTY',
      message: `${path} cannot be stored: it is an integer beyond 64 bits. Write it as a text, or with an exponent, which makes it a number.`,
    }),
  )
})

test('a line of more values than a bag may have is BODY_TOO_LARGE', () => {
  const line = Buffer.from(`{"a":[${'0,'.repeat(MAX_VALUES)}0]}`)
  expect(() => parseBag(line)).toThrow(
    expect.objectContaining({ code: 'BODY_TOO_LARGE', message: 'The line has more than 100000 values.' }),
  )
})

test('every bag is the same after an export and an import, and --json prints the same text', () => {
  fc.assert(
    fc.property(arbitraryBag, (bag) => {
      const line = entityLine(bag as Entity)
      const back = parseBag(Buffer.from(line))
      deepStrictEqual(back, bag)
      expect(JSON.stringify(entityJson(bag as Entity).properties)).toBe(line)
    }),
    { numRuns: runsOf(300) },
  )
})

test.each([MAX_DEPTH + 1, 200, 20_000])('the error of a line that is nested %i deep has no path', (depth) => {
  const line = Buffer.from(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)
  expect(() => parseBag(line)).toThrow(
    /^One JSON object is needed.*this one cannot be stored: it is nested more than \d+ deep\.$/,
  )
})

test.each([
  ['[1]', /this begins an array\. With jq/],
  ['[', /this begins an array\. With jq/],
  ['id,name', /this is not JSON\.$/],
  ['{"a":', /this is not JSON: it ends too early\.$/],
  ['{"a":1}{"b":2}', /this is not JSON: see character 8\.$/],
  ['"secret"', /this is a string/],
  [Buffer.of(0x22, 0xff, 0x22), /these bytes are not UTF-8/],
  ['{"at":{"$date":"secret"}}', /^at cannot be stored: a time is not valid\.$/],
  ['{"a":{"$foo":1}}', /^a cannot be stored: it has the tag "\$foo", which no bag has\./],
  ['{"n":1,"in":[1,{"at":{"$bytes":7}}]}', /^in\[1\]\.at cannot be stored: bytes are not in base64\.$/],
  ['{"$foo":1}', /this one cannot be stored: it has the tag "\$foo", which no bag has\./],
])('the error of the line %s says what it is, and nothing of its text', (line, message) => {
  const parse = (): unknown => parseBag(Buffer.from(line))
  expect(parse).toThrow(message)
  expect(parse).not.toThrow(/secret/)
})
