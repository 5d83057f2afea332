import { fileURLToPath } from 'node:url'
import { runDay } from './day/run/day-command.ts'
import { describeStartError } from './start-error.ts'

/* Plays a day on a site of its own, with the programs beside this file, and exits with 1 if anything was lost. */

const beside = (program: string): string => fileURLToPath(new URL(`./${program}.js`, import.meta.url))
const programs = { web: beside('main'), crawler: beside('crawl-main'), deliver: beside('deliver-main') }
try {
  process.exitCode = await runDay(process.argv.slice(2), programs, (line) => console.log(line))
} catch (error) {
  console.error(`The day failed: ${describeStartError(error)}`)
  process.exitCode = 1
}
