import { expect, test } from 'vitest'
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

test('a line beyond the limit is passed over, and the next one is read', async () => {
  expect(await linesOf(['aaa', 'aaa\nbb\n', 'ccccc', 'c'], 4)).toEqual([undefined, 'bb', undefined])
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
])('%j is no time', (time) => {
  expect(() => parseBag(Buffer.from(JSON.stringify({ at: { $date: time } })))).toThrow('a time is not one')
})

test.each(['{', '[]', '7', 'null', '{"secret":{"$date":"hunter2"}}', '{"$date":"2009-02-27T00:00:00.000Z"}'])(
  '%s is no bag, told without repeating it',
  (text) => {
    const parse = (): unknown => parseBag(Buffer.from(text))
    expect(parse).toThrow(expect.objectContaining({ code: 'BAD_PROPERTY' }))
    expect(parse).toThrow('This is not one JSON object of properties: ')
    expect(parse).not.toThrow('hunter2')
  },
)
