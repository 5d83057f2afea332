import { afterEach, expect, test } from 'vitest'
import { createFileParser, type FileParser } from './file-parser.ts'
import { parseFile } from './parse-file.ts'

const options = { name: 'a.xml', now: new Date('2026-06-01T12:00:00Z') }
const small = Buffer.from(
  '<rss version="2.0"><channel><title>T</title><item><title>One</title><pubDate>Sat, 07 Sep 2002 00:00:01 GMT</pubDate></item></channel></rss>',
)
/** Within every limit, and seconds of work: the text of these items is markup with nothing in it. */
const slow = Buffer.from(
  `<rss version="2.0"><channel><title>T</title>${`<item><description><![CDATA[${'<p><b></b></p>'.repeat(110)}]]></description></item>`.repeat(4500)}</channel></rss>`,
)

let parser: FileParser = createFileParser()
afterEach(async () => {
  await parser.close()
  parser = createFileParser()
})

test('gives what parseFile gives', async () => {
  expect(await parser.parse(small, options)).toEqual(parseFile(small, options))
  expect(await parser.parse(Buffer.from('x'), options)).toEqual(parseFile(Buffer.from('x'), options))
})

test('others go on while a file is read', async () => {
  const events: string[] = []
  const parsing = parser.parse(slow, options).then((file) => events.push(file.type))
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
  events.push('somebody else')
  await parsing
  expect(events).toEqual(['somebody else', 'refused'])
})

test('a file that takes too long is refused, and the next ones are read', async () => {
  const impatient = createFileParser(1)
  const long = await impatient.parse(slow, options)
  expect(long).toEqual({ type: 'refused', reason: 'The file takes longer than 0.001 seconds to read.' })
  await impatient.close()
  const files = await Promise.all([parser.parse(slow, options), parser.parse(small, options)])
  expect(files.map(({ type }) => type)).toEqual(['refused', 'feed'])
})

test('a thread that is ended refuses what it is at', async () => {
  const parsing = parser.parse(slow, options)
  await new Promise((resolve) => setImmediate(resolve))
  await parser.close()
  expect(await parsing).toEqual({
    type: 'refused',
    reason: 'The file could not be read: it was interrupted.',
  })
  expect(await parser.parse(small, options)).toMatchObject({ type: 'feed' })
})
