import { fileURLToPath } from 'node:url'
import { runLiveIndex } from './day/run/live-index.ts'
import { describeStartError } from './start-error.ts'

/* Adds an index to a large sample while readers visit, and exits with 1 if a request fails. */

const beside = (program: string): string => fileURLToPath(new URL(`./${program}.js`, import.meta.url))
const programs = { web: beside('main'), crawler: beside('crawl-main'), deliver: beside('deliver-main') }
try {
  process.exitCode = await runLiveIndex(process.argv.slice(2), programs, (line) => console.log(line))
} catch (error) {
  console.error(`The run failed: ${describeStartError(error)}`)
  process.exitCode = 1
}
