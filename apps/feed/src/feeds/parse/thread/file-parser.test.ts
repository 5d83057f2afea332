import { afterEach, expect, test } from 'vitest'
import { createFileParser, type FileParser } from './file-parser.ts'
import { parseFile } from '../parse-file.ts'

const options = { name: 'a.xml', now: new Date('2026-06-01T12:00:00Z') }
const small = Buffer.from(
  '<rss version="2.0"><channel><title>T</title><item><title>One</title><pubDate>Sat, 07 Sep 2002 00:00:01 GMT</pubDate></item></channel></rss>',
)
/** A file within every limit that takes about a second to parse: the items' text is markup without content. */
const slow = Buffer.from(
  `<rss version="2.0"><channel><title>T</title>${`<item><description><![CDATA[${'<p><b></b></p>'.repeat(110)}]]></description></item>`.repeat(1500)}</channel></rss>`,
)

let parser: FileParser = createFileParser()
afterEach(async () => {
  await parser.close()
  parser = createFileParser()
})

test('the parser thread returns the same result as parseFile', async () => {
  expect(await parser.parse(small, options)).toEqual(parseFile(small, options))
  expect(await parser.parse(Buffer.from('x'), options)).toEqual(parseFile(Buffer.from('x'), options))
})

test('the event loop stays free while a file is parsed', async () => {
  const events: string[] = []
  const parsing = parser.parse(slow, options).then((file) => events.push(file.type))
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
  events.push('somebody else')
  await parsing
  expect(events).toEqual(['somebody else', 'refused'])
})

test('a file beyond the time limit is refused, and later files are parsed', async () => {
  const impatient = createFileParser(1)
  const long = await impatient.parse(slow, options)
  expect(long).toEqual({ type: 'refused', reason: 'The file takes longer than 0.001 seconds to read.' })
  await impatient.close()
  const files = await Promise.all([parser.parse(slow, options), parser.parse(small, options)])
  expect(files.map(({ type }) => type)).toEqual(['refused', 'feed'])
})

test.each([
  ['many incomplete tags', '<title mode='.repeat(100_000)],
  ['a tag of very many attributes', `<title${' mode="base64"'.repeat(80_000)}`],
])('%s do not use the time limit up', async (_, text) => {
  const file = await parser.parse(Buffer.from(`<feed version="0.3">${text}`), options)
  expect(file).not.toMatchObject({ reason: expect.stringContaining('longer than') })
})

test('closing the parser refuses the file in progress', async () => {
  const parsing = parser.parse(slow, options)
  await new Promise((resolve) => setImmediate(resolve))
  await parser.close()
  expect(await parsing).toEqual({
    type: 'refused',
    reason: 'The file could not be read: the parser was stopped.',
  })
  expect(await parser.parse(small, options)).toMatchObject({ type: 'feed' })
})
