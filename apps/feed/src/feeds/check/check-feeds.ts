import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileParser } from '../parse/thread/file-parser.ts'
import { differencesOf } from './differences.ts'
import { expectations } from './expectations.ts'
import { messageOf } from '../../text/message-of.ts'

const USAGE = 'Usage: check-feeds folder expected.json'

export interface Output {
  print(line: string): void
  printError(line: string): void
}

/**
 * Parses the feeds of a folder as the crawler does, and prints how each differs from its expectation. Returns the exit status: 0, 1 if
 * there are differences, or 2 if the check could not run.
 */
export async function checkFeeds(
  [folder, file]: readonly string[],
  parser: FileParser,
  output: Output,
): Promise<number> {
  if (folder === undefined || file === undefined) {
    output.printError(USAGE)
    return 2
  }
  try {
    const expected = expectations.parse(JSON.parse(await readFile(file, 'utf8')))
    const names = new Set([...(await readdir(folder)), ...Object.keys(expected)])
    names.delete('README.md')
    let wrong = 0
    for (const name of [...names].toSorted()) {
      const lines = await linesOf(name)
      if (lines.length > 0) wrong++
      for (const line of lines) output.print(`${name}: ${line}`)
    }
    output.print(`${names.size} files, ${wrong} with differences.`)
    return wrong === 0 ? 0 : 1

    async function linesOf(name: string): Promise<readonly string[]> {
      const wanted = expected[name]
      if (wanted === undefined) return ['no expectation']
      const bytes = await readFile(join(folder as string, name)).catch(() => undefined)
      if (bytes === undefined) return ['no file']
      const address = 'address' in wanted ? wanted.address : undefined
      return differencesOf(await parser.parse(bytes, { name, now: new Date(), address }), wanted)
    }
  } catch (error) {
    output.printError(`The feeds could not be checked: ${messageOf(error)}`)
    return 2
  }
}
