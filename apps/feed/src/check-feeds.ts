import { checkFeeds } from './feeds/check/check-feeds.ts'
import { createFileParser } from './feeds/parse/thread/file-parser.ts'

const parser = createFileParser()
process.exitCode = await checkFeeds(process.argv.slice(2), parser, {
  print: (line) => console.log(line),
  printError: (line) => console.error(line),
})
await parser.close()
