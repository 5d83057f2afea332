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

test.each(['{', '[]', '7', 'null', '{"secret":{"$date":"hunter2"}}', '{"$date":"2009-02-27T00:00:00.000Z"}'])(
  '%s is no bag, told without repeating it',
  (text) => {
    const parse = (): unknown => parseBag(Buffer.from(text))
    expect(parse).toThrow(expect.objectContaining({ code: 'BAD_PROPERTY' }))
    expect(parse).toThrow('This is not one JSON object of properties: ')
    expect(parse).not.toThrow('hunter2')
  },
)
